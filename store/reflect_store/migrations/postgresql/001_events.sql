-- Layout 1: whose rows are whose, and the events, which are the truth of every tenant's store.
--
-- A tenant is told by the role that logged in, which no statement of that role can change, through a table that only the owner can
-- read or write. Every table of rows has a column `tenant` and lets through the rows of that tenant alone, for its owner too.

CREATE SCHEMA reflect_gate;

CREATE TABLE reflect_gate.layout (number integer NOT NULL);

INSERT INTO reflect_gate.layout VALUES (0);

CREATE TABLE reflect_gate.tenants (
    tenant text COLLATE "C" PRIMARY KEY CHECK (tenant <> '' AND length(tenant) <= 63)
);

CREATE TABLE reflect_gate.members (
    role name PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL REFERENCES reflect_gate.tenants
);

-- `session_user` is who logged in; `current_user` would be the owner within this function, and SET ROLE would change it outside.
-- Every statement calls it: PL/pgSQL keeps its plan for the session, which a function in SQL makes anew each time.
CREATE FUNCTION reflect_gate.tenant() RETURNS text
LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path = ''
AS $$
BEGIN
    RETURN (SELECT members.tenant FROM reflect_gate.members WHERE members.role = session_user);
END
$$;

CREATE FUNCTION reflect_gate.assign(whose name, tenant text) RETURNS void
LANGUAGE sql SET search_path = ''
BEGIN ATOMIC
    INSERT INTO reflect_gate.tenants VALUES (assign.tenant) ON CONFLICT DO NOTHING;
    INSERT INTO reflect_gate.members VALUES (assign.whose, assign.tenant)
    ON CONFLICT (role) DO UPDATE SET tenant = excluded.tenant;
END;

REVOKE EXECUTE ON FUNCTION reflect_gate.assign(name, text) FROM PUBLIC;

-- Puts a table under the tenants' policy.
CREATE PROCEDURE reflect_gate.guard(guarded regclass)
LANGUAGE plpgsql SET search_path = ''
AS $$
BEGIN
    EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', guarded);
    EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', guarded);
    EXECUTE format(
        'CREATE POLICY of_the_tenant ON %s USING (tenant = (SELECT reflect_gate.tenant()))'
        ' WITH CHECK (tenant = (SELECT reflect_gate.tenant()))',
        guarded
    );
END
$$;

REVOKE EXECUTE ON PROCEDURE reflect_gate.guard(regclass) FROM PUBLIC;

-- One row a tenant: who writes locks it, so that writers of one tenant follow each other and those of others do not wait. The id
-- names the chain for the indexes of the nodes and for the channel by which they are woken; `edition` moves when what is searched was
-- made anew without an event that says so.
CREATE TABLE reflect_gate.chains (
    tenant text COLLATE "C" PRIMARY KEY,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    edition integer NOT NULL DEFAULT 1
);

CALL reflect_gate.guard('reflect_gate.chains');

CREATE TABLE reflect_gate.events (
    tenant text COLLATE "C" NOT NULL,
    seq bigint NOT NULL CHECK (seq > 0),
    id text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    time text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    hash text COLLATE "C" NOT NULL,
    -- Both are NULL once the payload is erased.
    nonce text COLLATE "C",
    payload bytea,
    PRIMARY KEY (tenant, seq),
    CONSTRAINT events_are_named_once UNIQUE (tenant, id),
    CHECK ((nonce IS NULL) = (payload IS NULL))
);

CREATE INDEX events_by_time ON reflect_gate.events (tenant, time, id);

CREATE INDEX events_redacted ON reflect_gate.events (tenant, seq) WHERE payload IS NULL;

CALL reflect_gate.guard('reflect_gate.events');

CREATE FUNCTION reflect_gate.events_are_kept() RETURNS trigger
LANGUAGE plpgsql SET search_path = 'pg_catalog'
AS $$
BEGIN
    RAISE EXCEPTION 'an event is never deleted';
END
$$;

CREATE TRIGGER events_are_kept BEFORE DELETE ON reflect_gate.events
FOR EACH ROW EXECUTE FUNCTION reflect_gate.events_are_kept();

CREATE TRIGGER events_are_kept_together BEFORE TRUNCATE ON reflect_gate.events
FOR EACH STATEMENT EXECUTE FUNCTION reflect_gate.events_are_kept();

CREATE FUNCTION reflect_gate.events_follow_each_other() RETURNS trigger
LANGUAGE plpgsql SET search_path = 'pg_catalog'
AS $$
BEGIN
    IF NEW.seq IS DISTINCT FROM (
        SELECT coalesce(max(events.seq), 0) + 1 FROM reflect_gate.events WHERE events.tenant = NEW.tenant
    ) THEN
        RAISE EXCEPTION 'an event follows the last one';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER events_follow_each_other BEFORE INSERT ON reflect_gate.events
FOR EACH ROW EXECUTE FUNCTION reflect_gate.events_follow_each_other();

-- The one change that an event can undergo: its payload and nonce are erased.
CREATE FUNCTION reflect_gate.events_stay_as_they_are() RETURNS trigger
LANGUAGE plpgsql SET search_path = 'pg_catalog'
AS $$
BEGIN
    IF NEW.payload IS NOT NULL
        OR (NEW.tenant, NEW.seq, NEW.id, NEW.type, NEW.time, NEW.digest, NEW.hash)
            IS DISTINCT FROM (OLD.tenant, OLD.seq, OLD.id, OLD.type, OLD.time, OLD.digest, OLD.hash)
    THEN
        RAISE EXCEPTION 'an event is never rewritten';
    END IF;
    RETURN NEW;
END
$$;

CREATE TRIGGER events_stay_as_they_are BEFORE UPDATE ON reflect_gate.events
FOR EACH ROW EXECUTE FUNCTION reflect_gate.events_stay_as_they_are();
