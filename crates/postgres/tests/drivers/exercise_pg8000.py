"""pg8000: a driver without libpq."""

import os

import pg8000.native

conn = pg8000.native.Connection(os.environ["PGUSER"], host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]),
                                password=os.environ["PGPASSWORD"], database=os.environ["PGDATABASE"])
assert conn.run("SELECT n FROM counter WHERE id = :id", id=1) == [[0]]
conn.run("START TRANSACTION")
conn.run("UPDATE counter SET n = n + :by", by=2)
try:
    conn.run("INSERT INTO counter VALUES (1, 1)")
except pg8000.native.DatabaseError as error:
    assert error.args[0]["C"] == "23505", error
conn.run("ROLLBACK")
assert conn.run("SELECT n FROM counter") == [[0]]
conn.close()
print("fine")
