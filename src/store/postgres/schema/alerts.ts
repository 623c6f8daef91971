/** Alerts that are to be delivered, or were delivered lately. */
export const alerts = (schema: string): string => `
CREATE TABLE ${schema}.alerts (
  id text COLLATE "C" NOT NULL,
  receiver text COLLATE "C" NOT NULL,
  alert text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  state text COLLATE "C" NOT NULL DEFAULT 'waiting',
  attempts integer NOT NULL DEFAULT 0,
  next_at timestamptz,
  until_at timestamptz NOT NULL,
  claimed_by text COLLATE "C",
  claimed_until timestamptz,
  error text,
  ended_at timestamptz,
  PRIMARY KEY (id, receiver)
);
CREATE INDEX alerts_waiting ON ${schema}.alerts (receiver, next_at) WHERE state = 'waiting';
CREATE INDEX alerts_created ON ${schema}.alerts (created_at);
COMMENT ON TABLE ${schema}.alerts IS 'Alerts, a row for each receiver: those that wait for their delivery, and those of the last month.';
COMMENT ON COLUMN ${schema}.alerts.alert IS 'The alert as JSON';
COMMENT ON COLUMN ${schema}.alerts.state IS 'waiting, delivered, or undelivered after the last attempt';
COMMENT ON COLUMN ${schema}.alerts.until_at IS 'Time of the last attempt';
COMMENT ON COLUMN ${schema}.alerts.claimed_by IS 'The process that attempts the delivery until claimed_until';
`;
