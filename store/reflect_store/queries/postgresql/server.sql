-- name: begin_reading
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- Each statement sees what was committed before it: the first of them waits for the tenant's other writers.
-- name: begin_writing
BEGIN ISOLATION LEVEL READ COMMITTED;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;

-- name: settings
SELECT set_config('search_path', '', false), set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false),
    set_config('idle_in_transaction_session_timeout', %s, false);

-- name: only_read
SET default_transaction_read_only = on;

-- name: found
SELECT to_regclass('reflect_gate.layout') IS NOT NULL, to_regnamespace('reflect_gate') IS NOT NULL,
    current_setting('server_encoding'), current_setting('server_version_num')::integer, pg_is_in_recovery();

-- name: layout
SELECT number FROM reflect_gate.layout;

-- name: set_layout
UPDATE reflect_gate.layout SET number = %s;

-- name: belongs
SELECT session_user::text, reflect_gate.tenant();

-- name: assign_me
SELECT reflect_gate.assign(session_user, %s);

-- name: tenants
SELECT tenant FROM reflect_gate.tenants ORDER BY tenant;

-- name: turn_migrating
SELECT pg_advisory_xact_lock(hashtextextended('reflect_gate.layout', 0));

-- name: without_limits
SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true);

-- name: unlimited
SET statement_timeout = 0;

-- name: tables
SELECT quote_ident(nspname) || '.' || quote_ident(relname), relrowsecurity AND relforcerowsecurity,
    pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'reflect_gate' AND relkind = 'r' AND relname NOT IN ('layout', 'tenants', 'members') ORDER BY relname;

-- name: size
SELECT coalesce(sum(pg_catalog.pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_catalog.pg_class
JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = 'reflect_gate' AND relkind = 'r';

-- name: unassign_me
DELETE FROM reflect_gate.members WHERE role = session_user;

-- Rewrites the tables without what is gone, and leaves nothing of it in their pages.
-- name: compact
VACUUM (FULL, ANALYZE) {table};
