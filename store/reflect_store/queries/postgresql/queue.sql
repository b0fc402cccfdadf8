-- name: layout
SELECT number, engine FROM reflect_gate_queue.layout;

-- name: found
SELECT to_regclass('reflect_gate_queue.layout') IS NOT NULL, to_regnamespace('reflect_gate_queue') IS NOT NULL,
    current_setting('server_encoding'), current_setting('server_version_num')::integer;

-- name: turn_migrating
SELECT pg_advisory_xact_lock(hashtextextended('reflect_gate_queue.layout', 0));

-- name: make_schema
CREATE SCHEMA reflect_gate_queue;

-- name: in_schema
SELECT set_config('search_path', 'reflect_gate_queue', true);

-- name: set_layout
UPDATE reflect_gate_queue.layout SET number = %s, engine = %s;

-- Whoever calls a function finds its tables, whatever the search path of the session is.
-- name: bind
DO $$
DECLARE
    called regprocedure;
BEGIN
    FOR called IN SELECT oid FROM pg_catalog.pg_proc WHERE pronamespace = 'reflect_gate_queue'::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = reflect_gate_queue, pg_catalog, pg_temp', called);
    END LOOP;
END
$$;

-- name: grant
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'reflect_gate_writer') THEN
        GRANT USAGE ON SCHEMA reflect_gate_queue TO reflect_gate_writer;
        GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA reflect_gate_queue TO reflect_gate_writer;
        REVOKE INSERT, UPDATE, DELETE ON reflect_gate_queue.layout FROM reflect_gate_writer;
        GRANT USAGE ON ALL SEQUENCES IN SCHEMA reflect_gate_queue TO reflect_gate_writer;
    END IF;
END
$$;

-- name: put
SELECT reflect_gate_queue.put(%s, %s, %s, %s, %s);

-- name: take
SELECT * FROM reflect_gate_queue.take(%s);

-- name: ack
SELECT reflect_gate_queue.ack(%s, %s, %s);

-- name: again
SELECT reflect_gate_queue.again(%s, %s, %s, %s, %s, %s);

-- name: release
SELECT reflect_gate_queue.again(%s, %s, %s, reflect_gate_queue.moment(), NULL, NULL);

-- name: bury
SELECT reflect_gate_queue.bury(%s, %s, %s, %s, %s, %s);

-- name: defer_again
SELECT reflect_gate_queue.procrastinate_retry_job_v2(%s, %s, NULL, NULL, NULL);

-- name: moment
SELECT reflect_gate_queue.moment();

-- name: epoch
SELECT reflect_gate_queue.epoch();

-- name: next_due
SELECT extract(epoch FROM min(scheduled_at) - reflect_gate_queue.moment())::double precision
FROM reflect_gate_queue.procrastinate_jobs WHERE status = 'todo' AND queue_name = 'reflect';

-- Jobs whose time has come by the clock that never jumps.
-- name: due_now
UPDATE reflect_gate_queue.procrastinate_jobs SET scheduled_at = reflect_gate_queue.moment()
WHERE id = ANY(%s) AND status = 'todo' AND scheduled_at > reflect_gate_queue.moment();

-- The partial indexes answer it, and not the table, which keeps every job that was ever done; so they do below, each part by itself.
-- name: depth
SELECT count(*) FROM reflect_gate_queue.jobs WHERE state = 'waiting';

-- name: sizes
SELECT (SELECT count(*) FROM reflect_gate_queue.jobs WHERE state = 'waiting'),
    (SELECT count(*) FROM reflect_gate_queue.jobs WHERE state = 'dead'),
    (SELECT count(*) FROM reflect_gate_queue.procrastinate_jobs WHERE status = 'todo' AND queue_name = 'reflect'
        AND (scheduled_at IS NULL OR scheduled_at <= reflect_gate_queue.moment())),
    (SELECT count(*) FROM reflect_gate_queue.expired),
    reflect_gate_queue.epoch() - (SELECT min(created) FROM reflect_gate_queue.jobs WHERE state = 'waiting');

-- name: state
SELECT state FROM reflect_gate_queue.jobs WHERE id = %s;

-- name: waiting
SELECT jobs.id, jobs.record, jobs.created, coalesce(extract(epoch FROM scheduled_at)::double precision, jobs.created),
    jobs.attempts, coalesce(status = 'doing', false)
FROM reflect_gate_queue.jobs LEFT JOIN reflect_gate_queue.procrastinate_jobs ON procrastinate_jobs.id = jobs.job
WHERE jobs.state = 'waiting' ORDER BY jobs.created, jobs.id;

-- name: dead
SELECT id, record, created, attempts, reason, ended FROM reflect_gate_queue.jobs WHERE state = 'dead' ORDER BY ended, id;

-- name: expired
SELECT id, record FROM reflect_gate_queue.expired ORDER BY id;

-- name: quarantined
SELECT name, octet_length(data), problem FROM reflect_gate_queue.quarantine ORDER BY name;

-- name: lock_dead
SELECT record, coalesce(reason = 'moving', false) FROM reflect_gate_queue.jobs WHERE id = %s AND state = 'dead' FOR UPDATE;

-- name: lock_expired
SELECT record FROM reflect_gate_queue.expired WHERE id = %s FOR UPDATE;

-- name: forget
WITH gone AS (DELETE FROM reflect_gate_queue.jobs WHERE id = %s RETURNING job)
DELETE FROM reflect_gate_queue.procrastinate_jobs USING gone WHERE procrastinate_jobs.id = gone.job;

-- name: forget_expired
DELETE FROM reflect_gate_queue.expired WHERE id = %s;

-- name: purge
WITH gone AS (
    DELETE FROM reflect_gate_queue.jobs
    WHERE state = 'dead' AND reason IS DISTINCT FROM 'moving' AND (%(id)s::text IS NULL OR id = %(id)s) RETURNING job
), rows AS (DELETE FROM reflect_gate_queue.procrastinate_jobs USING gone WHERE procrastinate_jobs.id = gone.job)
SELECT count(*) FROM gone;

-- The oldest jobs that nobody works on, beyond the capacity.
-- name: too_many
SELECT jobs.id, jobs.job, jobs.record, jobs.attempts, jobs.created FROM reflect_gate_queue.jobs
JOIN reflect_gate_queue.procrastinate_jobs ON procrastinate_jobs.id = jobs.job
WHERE jobs.state = 'waiting' AND status = 'todo' AND jobs.id <> %(but)s
ORDER BY jobs.created, jobs.id
LIMIT greatest((SELECT count(*) FROM reflect_gate_queue.jobs WHERE state = 'waiting') - %(capacity)s, 0)
FOR UPDATE OF procrastinate_jobs SKIP LOCKED;

-- name: expire
WITH old AS (
    SELECT jobs.id, jobs.job, jobs.record FROM reflect_gate_queue.jobs
    JOIN reflect_gate_queue.procrastinate_jobs ON procrastinate_jobs.id = jobs.job
    WHERE jobs.state = 'waiting' AND status = 'todo' AND jobs.created < reflect_gate_queue.epoch() - %s
    FOR UPDATE OF procrastinate_jobs SKIP LOCKED
), kept AS (
    INSERT INTO reflect_gate_queue.expired SELECT id, record FROM old
    ON CONFLICT (id) DO UPDATE SET record = excluded.record
), gone AS (
    DELETE FROM reflect_gate_queue.procrastinate_jobs USING old WHERE procrastinate_jobs.id = old.job
)
DELETE FROM reflect_gate_queue.jobs USING old WHERE jobs.id = old.id RETURNING jobs.id;

-- A calendar that was set back delays nothing for longer than this.
-- name: not_later
UPDATE reflect_gate_queue.procrastinate_jobs SET scheduled_at = reflect_gate_queue.moment() + make_interval(secs => %(longest)s)
WHERE status = 'todo' AND queue_name = 'reflect' AND NOT id = ANY(%(but)s)
    AND scheduled_at > reflect_gate_queue.moment() + make_interval(secs => %(longest)s);

-- name: no_longer_expired
DELETE FROM reflect_gate_queue.expired USING reflect_gate_queue.jobs WHERE expired.id = jobs.id AND jobs.state = 'waiting';

-- name: todo
SELECT count(*) FROM reflect_gate_queue.procrastinate_jobs WHERE status = 'todo' AND queue_name = 'reflect';

-- name: set_aside
INSERT INTO reflect_gate_queue.quarantine VALUES (%s, %s, %s) ON CONFLICT (name) DO NOTHING;

-- name: forget_row
DELETE FROM reflect_gate_queue.procrastinate_jobs WHERE id = %s;

-- name: register
SELECT worker_id FROM reflect_gate_queue.procrastinate_register_worker_v1();

-- name: unregister
SELECT reflect_gate_queue.procrastinate_unregister_worker_v1(%s);

-- name: listen
LISTEN "procrastinate_queue_v1#reflect";

-- name: beat
UPDATE reflect_gate_queue.procrastinate_workers SET last_heartbeat = clock_timestamp() WHERE id = %s RETURNING id;

-- Workers that hold jobs, with their last sign of life; 0 stands for jobs whose worker is gone already.
-- name: holders
SELECT procrastinate_workers.id, last_heartbeat::text FROM reflect_gate_queue.procrastinate_workers
WHERE procrastinate_workers.id <> %(me)s AND EXISTS (
    SELECT FROM reflect_gate_queue.procrastinate_jobs WHERE worker_id = procrastinate_workers.id AND status = 'doing'
)
UNION ALL
SELECT 0, '' WHERE EXISTS (SELECT FROM reflect_gate_queue.procrastinate_jobs WHERE worker_id IS NULL AND status = 'doing');

-- Workers that were silent for so long, the server's own silence not counted, that nobody needs to have watched them.
-- name: long_silent
SELECT id, last_heartbeat::text FROM reflect_gate_queue.procrastinate_workers
WHERE greatest(last_heartbeat, pg_postmaster_start_time()) < clock_timestamp() - make_interval(secs => %s);

-- name: lock_worker
SELECT FROM reflect_gate_queue.procrastinate_workers WHERE id = %s AND last_heartbeat::text = %s FOR UPDATE SKIP LOCKED;

-- name: in_work
SELECT procrastinate_jobs.id, jobs.id, jobs.record, jobs.attempts, jobs.strikes
FROM reflect_gate_queue.procrastinate_jobs LEFT JOIN reflect_gate_queue.jobs ON jobs.job = procrastinate_jobs.id
WHERE coalesce(worker_id, 0) = %s AND status = 'doing' FOR UPDATE OF procrastinate_jobs SKIP LOCKED;

-- name: strike
UPDATE reflect_gate_queue.jobs SET strikes = strikes + 1 WHERE id = %s;

-- name: tell
SELECT reflect_gate_queue.tell(%s);

-- Jobs that this worker has by the server's account, and not by its own.
-- name: strays
SELECT reflect_gate_queue.procrastinate_retry_job_v2(id, reflect_gate_queue.moment(), NULL, NULL, NULL)
FROM reflect_gate_queue.procrastinate_jobs WHERE worker_id = %s AND status = 'doing' AND NOT id = ANY(%s);

-- name: waiting_ids
SELECT id FROM reflect_gate_queue.jobs WHERE state = 'waiting' ORDER BY created, id;

-- name: moving_ids
SELECT id FROM reflect_gate_queue.jobs WHERE state = 'dead' AND reason = 'moving' ORDER BY created, id;

-- name: dead_ids
SELECT id FROM reflect_gate_queue.jobs WHERE state = 'dead' AND reason IS DISTINCT FROM 'moving' ORDER BY ended, id;

-- name: expired_ids
SELECT id FROM reflect_gate_queue.expired ORDER BY id;

-- name: lock_waiting
SELECT jobs.record, jobs.created, jobs.attempts, extract(epoch FROM scheduled_at)::double precision, jobs.job
FROM reflect_gate_queue.jobs JOIN reflect_gate_queue.procrastinate_jobs ON procrastinate_jobs.id = jobs.job
WHERE jobs.id = %s AND jobs.state = 'waiting' AND status = 'todo' FOR UPDATE OF procrastinate_jobs SKIP LOCKED;

-- name: hide
UPDATE reflect_gate_queue.jobs SET state = 'dead', reason = 'moving', job = NULL, ended = reflect_gate_queue.epoch(), record = %s
WHERE id = %s;

-- name: letter
SELECT record, created, attempts, reason, ended FROM reflect_gate_queue.jobs WHERE id = %s AND state = 'dead';

-- name: forget_letter
WITH gone AS (DELETE FROM reflect_gate_queue.jobs WHERE id = %s AND state = 'dead' RETURNING job)
DELETE FROM reflect_gate_queue.procrastinate_jobs USING gone WHERE procrastinate_jobs.id = gone.job;

-- name: as_it_was
UPDATE reflect_gate_queue.jobs SET created = %(created)s, attempts = %(attempts)s WHERE id = %(id)s;

-- name: not_before
UPDATE reflect_gate_queue.procrastinate_jobs SET scheduled_at = to_timestamp(%(next)s)
FROM reflect_gate_queue.jobs WHERE jobs.id = %(id)s AND procrastinate_jobs.id = jobs.job AND %(next)s > reflect_gate_queue.epoch();

-- name: add_letter
INSERT INTO reflect_gate_queue.jobs (id, state, created, attempts, reason, ended, record)
VALUES (%s, 'dead', %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING;

-- name: add_expired
INSERT INTO reflect_gate_queue.expired SELECT %(id)s, %(record)s
WHERE NOT EXISTS (SELECT FROM reflect_gate_queue.jobs WHERE id = %(id)s) ON CONFLICT (id) DO NOTHING;

-- name: done
SELECT id, ended FROM reflect_gate_queue.jobs WHERE state = 'done' ORDER BY ended, id;

-- name: add_done
WITH given AS (SELECT * FROM unnest(%s::text[], %s::double precision[]) AS given (id, ended)), added AS (
    INSERT INTO reflect_gate_queue.jobs (id, state, created, ended) SELECT id, 'done', ended, ended FROM given
    ON CONFLICT (id) DO NOTHING RETURNING id
)
SELECT count(*) FROM added;
