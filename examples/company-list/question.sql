-- Who leads each company, what is its most likely site, and how sure is the agent of the name?
SELECT l.name, l.ceo, l.employees, l.headquarters_city, s.url AS site, g.confidence, count(g.url) AS sources
FROM leaders l
JOIN sites s USING (name)
LEFT JOIN agent_grounding g
  ON g.job = (SELECT job FROM searchflow_jobs WHERE name = 'leaders')
  AND g.row_number = l.row_number AND g.field LIKE '%ceo'
GROUP BY ALL
ORDER BY l.employees DESC;
