-- The projections have one form, so each statement serves them all: {table} and {columns} are names of `tables.TABLES`, {marks} one
-- placeholder a column, {sets} assigns each column its new value, {where} compares columns with placeholders, {column} is one of them.

-- name: get
SELECT row FROM reflect_gate.{table} WHERE tenant = (SELECT reflect_gate.tenant()) AND key = %s;

-- name: many
SELECT key, row FROM reflect_gate.{table} WHERE tenant = (SELECT reflect_gate.tenant()) AND key = ANY (%s::text[]);

-- name: put
INSERT INTO reflect_gate.{table} (tenant, key, time, event, row{columns})
VALUES ((SELECT reflect_gate.tenant()), %s, %s, %s, %b{marks})
ON CONFLICT (tenant, key) DO UPDATE SET time = excluded.time, event = excluded.event, row = excluded.row{sets};

-- name: drop
DELETE FROM reflect_gate.{table} WHERE tenant = (SELECT reflect_gate.tenant()) AND key = %s;

-- name: select_oldest
SELECT time, event, key, row FROM reflect_gate.{table}
WHERE tenant = (SELECT reflect_gate.tenant()) AND (time, event, key) > (%s, %s, %s){where} ORDER BY time, event, key LIMIT %s;

-- name: select_newest
SELECT time, event, key, row FROM reflect_gate.{table}
WHERE tenant = (SELECT reflect_gate.tenant()) AND (time, event, key) < (%s, %s, %s){where}
ORDER BY time DESC, event DESC, key DESC LIMIT %s;

-- name: first_of
SELECT value, row FROM unnest(%s::text[]) AS asked (value) CROSS JOIN LATERAL (
    SELECT time, event, key, row FROM reflect_gate.{table}
    WHERE tenant = (SELECT reflect_gate.tenant()) AND {column} = asked.value ORDER BY time, event, key LIMIT %s
) AS held ORDER BY value, time, event, key;

-- name: count
SELECT count(*) FROM reflect_gate.{table} WHERE tenant = (SELECT reflect_gate.tenant()){where};

-- name: scan
SELECT key, row FROM reflect_gate.{table} WHERE tenant = (SELECT reflect_gate.tenant()) AND key > %s ORDER BY key LIMIT %s;
