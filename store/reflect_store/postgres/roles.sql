-- The roles of a store on PostgreSQL. Run it in the store's database after `reflect-gate store init`, and again after an upgrade that
-- brought a new layout, as the owner of the schema who may make roles, or as a superuser. Again is harmless.
--
--   reflect_gate_reader  reads the rows of its tenant
--   reflect_gate_writer  adds events, too, and keeps what is folded from them; it can neither change nor delete an event
--
-- The owner of the schema migrates, rebuilds, redacts and compacts, and says which role belongs to which tenant:
--
--   CREATE ROLE acme_agent LOGIN PASSWORD '...' IN ROLE reflect_gate_writer;
--   SELECT reflect_gate.assign('acme_agent', 'acme');
--
-- A role that belongs to no tenant sees nothing. A superuser and a role with BYPASSRLS are bound by no policy: programs use neither.

DO $$
DECLARE
    named name;
BEGIN
    FOREACH named IN ARRAY ARRAY['reflect_gate_reader', 'reflect_gate_writer'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = named) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', named);
        END IF;
    END LOOP;
END
$$;

REVOKE ALL ON ALL TABLES IN SCHEMA reflect_gate FROM PUBLIC, reflect_gate_reader, reflect_gate_writer;

REVOKE ALL ON SCHEMA reflect_gate FROM PUBLIC;

GRANT USAGE ON SCHEMA reflect_gate TO reflect_gate_reader, reflect_gate_writer;

GRANT SELECT ON reflect_gate.layout, reflect_gate.chains, reflect_gate.events,
    reflect_gate.terminations, reflect_gate.successes, reflect_gate.not_reflected, reflect_gate.violations,
    reflect_gate.decisions, reflect_gate.candidates, reflect_gate.lessons, reflect_gate.edges,
    reflect_gate.corroborations, reflect_gate.retrievals, reflect_gate.outcomes, reflect_gate.flags,
    reflect_gate.history, reflect_gate.redactions, reflect_gate.search, reflect_gate.search_words
TO reflect_gate_reader, reflect_gate_writer;

GRANT INSERT ON reflect_gate.events TO reflect_gate_writer;

-- The row that writers of one tenant lock; `edition` says to every node that its index is to be made anew.
GRANT INSERT (tenant), UPDATE (edition) ON reflect_gate.chains TO reflect_gate_writer;

GRANT INSERT, UPDATE, DELETE ON
    reflect_gate.terminations, reflect_gate.successes, reflect_gate.not_reflected, reflect_gate.violations,
    reflect_gate.decisions, reflect_gate.candidates, reflect_gate.lessons, reflect_gate.edges,
    reflect_gate.corroborations, reflect_gate.retrievals, reflect_gate.outcomes, reflect_gate.flags,
    reflect_gate.history, reflect_gate.redactions, reflect_gate.search, reflect_gate.search_words
TO reflect_gate_writer;
