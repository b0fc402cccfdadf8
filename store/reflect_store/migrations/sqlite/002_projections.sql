-- Layout 2: the projections. Every table has the same form: the row as JSON, the moment of the event that made it, and the fields
-- that it is looked up by. They are filled by folding the events, never by SQL.

CREATE TABLE terminations (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    signature TEXT NOT NULL,
    repository TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX terminations_by_time ON terminations (time, event, key);

CREATE INDEX terminations_by_signature ON terminations (signature, time, event, key);

CREATE INDEX terminations_by_repository ON terminations (repository, time, event, key);

CREATE TABLE successes (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    failure_id TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX successes_by_time ON successes (time, event, key);

CREATE INDEX successes_by_failure_id ON successes (failure_id, time, event, key);

CREATE TABLE not_reflected (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX not_reflected_by_time ON not_reflected (time, event, key);

CREATE TABLE violations (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    failure_id TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX violations_by_time ON violations (time, event, key);

CREATE INDEX violations_by_failure_id ON violations (failure_id, time, event, key);

CREATE TABLE decisions (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    failure_id TEXT NOT NULL,
    signature TEXT NOT NULL,
    status TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX decisions_by_time ON decisions (time, event, key);

CREATE INDEX decisions_by_failure_id ON decisions (failure_id, time, event, key);

CREATE INDEX decisions_by_signature ON decisions (signature, time, event, key);

CREATE INDEX decisions_by_status ON decisions (status, time, event, key);

CREATE TABLE candidates (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    signature TEXT NOT NULL,
    status TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX candidates_by_time ON candidates (time, event, key);

CREATE INDEX candidates_by_signature ON candidates (signature, time, event, key);

CREATE INDEX candidates_by_status ON candidates (status, time, event, key);

CREATE TABLE lessons (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    signature TEXT NOT NULL,
    level TEXT NOT NULL,
    standing TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX lessons_by_time ON lessons (time, event, key);

CREATE INDEX lessons_by_signature ON lessons (signature, time, event, key);

CREATE INDEX lessons_by_level ON lessons (level, time, event, key);

CREATE INDEX lessons_by_standing ON lessons (standing, time, event, key);

CREATE TABLE edges (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    signature TEXT NOT NULL,
    lesson_id TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX edges_by_time ON edges (time, event, key);

CREATE INDEX edges_by_signature ON edges (signature, time, event, key);

CREATE INDEX edges_by_lesson_id ON edges (lesson_id, time, event, key);

CREATE TABLE corroborations (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    lesson_id TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX corroborations_by_time ON corroborations (time, event, key);

CREATE INDEX corroborations_by_lesson_id ON corroborations (lesson_id, time, event, key);

CREATE TABLE outcomes (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    lesson_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX outcomes_by_time ON outcomes (time, event, key);

CREATE INDEX outcomes_by_lesson_id ON outcomes (lesson_id, time, event, key);

CREATE INDEX outcomes_by_outcome ON outcomes (outcome, time, event, key);

CREATE TABLE flags (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    status TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX flags_by_time ON flags (time, event, key);

CREATE INDEX flags_by_status ON flags (status, time, event, key);

CREATE TABLE history (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    lesson_id TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX history_by_time ON history (time, event, key);

CREATE INDEX history_by_lesson_id ON history (lesson_id, time, event, key);

CREATE TABLE redactions (
    key TEXT NOT NULL PRIMARY KEY,
    time TEXT NOT NULL,
    event TEXT NOT NULL,
    row BLOB NOT NULL
) STRICT;

CREATE INDEX redactions_by_time ON redactions (time, event, key);
