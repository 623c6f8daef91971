-- A table to try the example with.
CREATE TABLE companies (id integer PRIMARY KEY, name text, website text);
INSERT INTO companies VALUES
  (1, 'Airbnb', 'https://www.airbnb.com'),
  (2, 'Figma', 'https://www.figma.com'),
  (3, 'Stripe', 'https://stripe.com');
