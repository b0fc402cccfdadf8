-- Layout 2: the projections. Every table has the same form: the row as JSON, the moment of the event that made it, and the fields
-- that it is looked up by. They are filled by folding the events, never by SQL.

CREATE TABLE reflect_gate.terminations (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    repository text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX terminations_by_time ON reflect_gate.terminations (tenant, time, event, key);

CREATE INDEX terminations_by_signature ON reflect_gate.terminations (tenant, signature, time, event, key);

CREATE INDEX terminations_by_repository ON reflect_gate.terminations (tenant, repository, time, event, key);

CALL reflect_gate.guard('reflect_gate.terminations');

CREATE TABLE reflect_gate.successes (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    failure_id text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX successes_by_time ON reflect_gate.successes (tenant, time, event, key);

CREATE INDEX successes_by_failure_id ON reflect_gate.successes (tenant, failure_id, time, event, key);

CALL reflect_gate.guard('reflect_gate.successes');

CREATE TABLE reflect_gate.not_reflected (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX not_reflected_by_time ON reflect_gate.not_reflected (tenant, time, event, key);

CALL reflect_gate.guard('reflect_gate.not_reflected');

CREATE TABLE reflect_gate.violations (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    failure_id text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX violations_by_time ON reflect_gate.violations (tenant, time, event, key);

CREATE INDEX violations_by_failure_id ON reflect_gate.violations (tenant, failure_id, time, event, key);

CALL reflect_gate.guard('reflect_gate.violations');

CREATE TABLE reflect_gate.decisions (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    failure_id text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX decisions_by_time ON reflect_gate.decisions (tenant, time, event, key);

CREATE INDEX decisions_by_failure_id ON reflect_gate.decisions (tenant, failure_id, time, event, key);

CREATE INDEX decisions_by_signature ON reflect_gate.decisions (tenant, signature, time, event, key);

CREATE INDEX decisions_by_status ON reflect_gate.decisions (tenant, status, time, event, key);

CALL reflect_gate.guard('reflect_gate.decisions');

CREATE TABLE reflect_gate.candidates (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX candidates_by_time ON reflect_gate.candidates (tenant, time, event, key);

CREATE INDEX candidates_by_signature ON reflect_gate.candidates (tenant, signature, time, event, key);

CREATE INDEX candidates_by_status ON reflect_gate.candidates (tenant, status, time, event, key);

-- A view asks for the held candidates of one signature, however many are held of others.
CREATE INDEX candidates_by_signature_and_status ON reflect_gate.candidates (tenant, signature, status, time, event, key);

CALL reflect_gate.guard('reflect_gate.candidates');

CREATE TABLE reflect_gate.lessons (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    level text COLLATE "C" NOT NULL,
    standing text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX lessons_by_time ON reflect_gate.lessons (tenant, time, event, key);

CREATE INDEX lessons_by_signature ON reflect_gate.lessons (tenant, signature, time, event, key);

CREATE INDEX lessons_by_level ON reflect_gate.lessons (tenant, level, time, event, key);

CREATE INDEX lessons_by_standing ON reflect_gate.lessons (tenant, standing, time, event, key);

CALL reflect_gate.guard('reflect_gate.lessons');

CREATE TABLE reflect_gate.edges (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    lesson_id text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX edges_by_time ON reflect_gate.edges (tenant, time, event, key);

CREATE INDEX edges_by_signature ON reflect_gate.edges (tenant, signature, time, event, key);

CREATE INDEX edges_by_lesson_id ON reflect_gate.edges (tenant, lesson_id, time, event, key);

CALL reflect_gate.guard('reflect_gate.edges');

CREATE TABLE reflect_gate.corroborations (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    lesson_id text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX corroborations_by_time ON reflect_gate.corroborations (tenant, time, event, key);

CREATE INDEX corroborations_by_lesson_id ON reflect_gate.corroborations (tenant, lesson_id, time, event, key);

CALL reflect_gate.guard('reflect_gate.corroborations');

CREATE TABLE reflect_gate.retrievals (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    task text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX retrievals_by_time ON reflect_gate.retrievals (tenant, time, event, key);

CREATE INDEX retrievals_by_session ON reflect_gate.retrievals (tenant, session, time, event, key);

CREATE INDEX retrievals_by_task ON reflect_gate.retrievals (tenant, task, time, event, key);

CALL reflect_gate.guard('reflect_gate.retrievals');

CREATE TABLE reflect_gate.outcomes (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    lesson_id text COLLATE "C" NOT NULL,
    counted_on text COLLATE "C" NOT NULL,
    outcome text COLLATE "C" NOT NULL,
    effect text COLLATE "C" NOT NULL,
    repository text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX outcomes_by_time ON reflect_gate.outcomes (tenant, time, event, key);

CREATE INDEX outcomes_by_lesson_id ON reflect_gate.outcomes (tenant, lesson_id, time, event, key);

CREATE INDEX outcomes_by_counted_on ON reflect_gate.outcomes (tenant, counted_on, time, event, key);

CREATE INDEX outcomes_by_outcome ON reflect_gate.outcomes (tenant, outcome, time, event, key);

CREATE INDEX outcomes_by_effect ON reflect_gate.outcomes (tenant, effect, time, event, key);

CREATE INDEX outcomes_by_repository ON reflect_gate.outcomes (tenant, repository, time, event, key);

CALL reflect_gate.guard('reflect_gate.outcomes');

CREATE TABLE reflect_gate.flags (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    status text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX flags_by_time ON reflect_gate.flags (tenant, time, event, key);

CREATE INDEX flags_by_status ON reflect_gate.flags (tenant, status, time, event, key);

CALL reflect_gate.guard('reflect_gate.flags');

CREATE TABLE reflect_gate.history (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    lesson_id text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX history_by_time ON reflect_gate.history (tenant, time, event, key);

CREATE INDEX history_by_lesson_id ON reflect_gate.history (tenant, lesson_id, time, event, key);

CALL reflect_gate.guard('reflect_gate.history');

CREATE TABLE reflect_gate.redactions (
    tenant text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    row bytea NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE INDEX redactions_by_time ON reflect_gate.redactions (tenant, time, event, key);

CALL reflect_gate.guard('reflect_gate.redactions');
