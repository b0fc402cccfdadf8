-- The tables and functions of the queue, beside those of procrastinate in the same schema. A job is a row here for ever; while it
-- waits or is worked on, and as a dead letter, a row of `procrastinate_jobs` stands for it.

-- `engine` is the last of procrastinate's own migrations that its tables have.
CREATE TABLE layout (
    number integer NOT NULL,
    engine text NOT NULL
);

INSERT INTO layout VALUES (0, '');

CREATE TABLE jobs (
    id text PRIMARY KEY CHECK (id ~ '^[0-9a-f]{16}$'),
    state text NOT NULL CHECK (state IN ('waiting', 'dead', 'done')),
    -- The row of procrastinate; none once the job is done.
    job bigint,
    -- Seconds since 1970.
    created double precision NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    -- How many workers died with it in a row.
    strikes integer NOT NULL DEFAULT 0,
    reason text,
    ended double precision,
    -- The bytes that a queue in a folder would keep; none once the job is done.
    record bytea
);

CREATE UNIQUE INDEX jobs_job ON jobs (job) WHERE job IS NOT NULL;

CREATE INDEX jobs_waiting ON jobs (created, id) WHERE state = 'waiting';

CREATE INDEX jobs_dead ON jobs (ended, id) WHERE state = 'dead';

CREATE TABLE expired (
    id text PRIMARY KEY,
    record bytea NOT NULL
);

CREATE TABLE quarantine (
    name text PRIMARY KEY,
    data bytea NOT NULL,
    problem text NOT NULL
);

CREATE FUNCTION moment() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT now() $$;

CREATE FUNCTION epoch() RETURNS double precision LANGUAGE sql STABLE AS $$ SELECT extract(epoch FROM moment())::double precision $$;

-- What procrastinate says of a new job, for one that waits again: whoever listens looks at once.
CREATE FUNCTION tell(the_job bigint) RETURNS void LANGUAGE sql AS $$
    SELECT pg_notify('procrastinate_queue_v1#reflect', json_build_object('type', 'job_inserted', 'job_id', the_job)::text)
$$;

-- Returns what became of a put. `alone`: puts follow each other, so that the capacity is kept exactly.
CREATE FUNCTION put(the_id text, data bytea, capacity integer, dropping boolean, alone boolean) RETURNS text LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    known text;
    waiting bigint;
    handle bigint;
BEGIN
    SELECT jobs.state INTO known FROM jobs WHERE jobs.id = the_id;
    IF known IS NULL THEN
        IF alone THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('reflect_gate_queue.put', 0));
        END IF;
        IF NOT dropping THEN
            SELECT count(*) INTO waiting FROM (SELECT FROM jobs WHERE jobs.state = 'waiting' LIMIT capacity) AS counted;
            IF waiting >= capacity THEN
                RETURN 'full';
            END IF;
        END IF;
        INSERT INTO jobs (id, state, created, record) VALUES (the_id, 'waiting', epoch(), data) ON CONFLICT DO NOTHING;
        IF FOUND THEN
            handle := (procrastinate_defer_jobs_v1(ARRAY[
                ROW('reflect', 'reflect_gate.reflect', 0, NULL, NULL, jsonb_build_object('id', the_id), NULL)
            ]::procrastinate_job_to_defer_v1[]))[1];
            UPDATE jobs SET job = handle WHERE jobs.id = the_id;
            RETURN 'enqueued';
        END IF;
        SELECT jobs.state INTO known FROM jobs WHERE jobs.id = the_id;
    END IF;
    RETURN CASE known WHEN 'waiting' THEN 'duplicate' ELSE known END;
END
$$;

-- Gives a job that is due to a worker. The record is read after the job was taken, so that it is what its last attempt left.
CREATE FUNCTION take(the_worker bigint)
RETURNS TABLE (job bigint, id text, record bytea, created double precision, moment timestamptz) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    taken bigint;
BEGIN
    SELECT fetched.id INTO taken FROM procrastinate_fetch_job_v2(ARRAY['reflect']::varchar[], the_worker) AS fetched;
    IF taken IS NOT NULL THEN
        RETURN QUERY SELECT taken, jobs.id, jobs.record, jobs.created, moment()
        FROM (SELECT taken) AS one LEFT JOIN jobs ON jobs.job = taken;
    END IF;
END
$$;

-- Locks a job for the worker that holds it, and returns false where another one does by now, or nobody.
CREATE FUNCTION held(the_job bigint, the_worker bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM procrastinate_jobs WHERE id = the_job AND worker_id = the_worker AND status = 'doing' FOR UPDATE;
    RETURN FOUND;
END
$$;

CREATE FUNCTION ack(the_id text, the_job bigint, the_worker bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT held(the_job, the_worker) THEN
        RETURN EXISTS (SELECT FROM jobs WHERE id = the_id AND state = 'done');
    END IF;
    PERFORM procrastinate_finish_job_v1(the_job, 'succeeded', true);
    UPDATE jobs SET state = 'done', job = NULL, record = NULL, ended = epoch() WHERE id = the_id;
    RETURN true;
END
$$;

-- Lets a job wait for another attempt; without `data` it is given back as it was.
CREATE FUNCTION again(the_id text, the_job bigint, the_worker bigint, due timestamptz, data bytea, tries integer)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT held(the_job, the_worker) THEN
        RETURN false;
    END IF;
    PERFORM procrastinate_retry_job_v2(the_job, due, NULL, NULL, NULL);
    UPDATE jobs SET record = coalesce(data, record), attempts = coalesce(tries, attempts), strikes = 0
    WHERE id = the_id AND (data IS NOT NULL OR strikes > 0);
    PERFORM tell(the_job);
    RETURN true;
END
$$;

-- Makes a dead letter of a job; without a worker, of one that waits.
CREATE FUNCTION bury(the_id text, the_job bigint, the_worker bigint, data bytea, tries integer, why text)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF the_worker IS NOT NULL AND NOT held(the_job, the_worker) THEN
        RETURN false;
    END IF;
    PERFORM procrastinate_finish_job_v1(the_job, 'failed', false);
    UPDATE jobs SET state = 'dead', record = data, attempts = tries, reason = why, strikes = 0, ended = epoch() WHERE id = the_id;
    RETURN true;
END
$$;
