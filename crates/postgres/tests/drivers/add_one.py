"""Adds one to the counter with the driver that is named: reads it, and writes it back. With `atomic`, in one statement."""

import asyncio
import os
import sys

driver, atomic = sys.argv[1], sys.argv[2:] == ["atomic"]
READ = "SELECT n FROM counter WHERE id = 1"
ADD = "UPDATE counter SET n = n + 1 WHERE id = 1"


def with_psycopg():
    import psycopg

    with psycopg.connect("") as conn:
        if atomic:
            return conn.execute(ADD)
        [n] = conn.execute(READ).fetchone()
        conn.execute("UPDATE counter SET n = %s WHERE id = 1", [n + 1])


def with_pipeline():
    import psycopg

    with psycopg.connect("", autocommit=True) as conn, conn.pipeline(), conn.transaction():
        if atomic:
            return conn.execute(ADD)
        [n] = conn.execute(READ).fetchone()
        conn.execute("UPDATE counter SET n = %s WHERE id = 1", [n + 1])


def with_psycopg2():
    import psycopg2

    with psycopg2.connect("") as conn, conn.cursor() as cursor:
        if atomic:
            return cursor.execute(ADD)
        cursor.execute(READ)
        [n] = cursor.fetchone()
        cursor.execute("UPDATE counter SET n = %s WHERE id = 1", [n + 1])


def with_pg8000():
    import pg8000.dbapi

    conn = pg8000.dbapi.connect(os.environ["PGUSER"], host=os.environ["PGHOST"], port=int(os.environ["PGPORT"]),
                                password=os.environ["PGPASSWORD"], database=os.environ["PGDATABASE"])
    cursor = conn.cursor()
    if atomic:
        cursor.execute(ADD)
    else:
        cursor.execute(READ)
        [n] = cursor.fetchone()
        cursor.execute("UPDATE counter SET n = %s WHERE id = 1", [n + 1])
    conn.commit()
    conn.close()


def with_asyncpg():
    import asyncpg

    async def add():
        conn = await asyncpg.connect(os.environ["DATABASE_URL"])
        async with conn.transaction():
            if atomic:
                await conn.execute(ADD)
            else:
                # A cursor binds first, and reads later.
                n = [record["n"] async for record in conn.cursor(READ)][0]
                await conn.execute("UPDATE counter SET n = $1 WHERE id = 1", n + 1)
        await conn.close()

    asyncio.run(add())


globals()["with_" + driver]()
