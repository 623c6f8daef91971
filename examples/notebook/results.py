# %% [markdown]
# # Results of a job, in a notebook
#
# The file opens as a notebook in VS Code and in Jupyter (with jupytext), and runs as a program: `python results.py`.

# %%
import os

import duckdb

path = os.environ.get("WAREHOUSE", "out/notebook.duckdb")
job = os.environ.get("JOB", "notebook")
# Read-only: a worker may load into the file at another time.
db = duckdb.connect(path, read_only=True)

# %% [markdown]
# The view of the job has the columns of the table and the results. Count before you conclude.

# %%
rows = db.sql(f'SELECT * FROM "{job}"').df()
print(rows.groupby(["status", "error_tag"], dropna=False).size())

# %%
print(rows.loc[rows.status == "success", ["name", "title", "fetched_at"]].head(10).to_string(index=False))

# %% [markdown]
# Costs by day and operation. Requests without an answer may have been charged.

# %%
print(db.sql("SELECT day, operation, dollars, unknown_dollars FROM spend ORDER BY day, operation").df().to_string(index=False))
db.close()
