"""asyncpg: everything binary, statements described before they are used, Flush without Sync."""

import asyncio
import datetime
import decimal
import os
import uuid

import asyncpg


async def main():
    conn = await asyncpg.connect(os.environ["DATABASE_URL"])
    assert await conn.fetchval("SELECT n FROM counter WHERE id = $1", 1) == 0
    async with conn.transaction(isolation="repeatable_read"):
        await conn.execute("UPDATE counter SET n = n + $1", 5)
        try:
            async with conn.transaction():
                await conn.execute("INSERT INTO counter VALUES ($1, $2)", 1, 1)
        except asyncpg.UniqueViolationError:
            pass
        row = await conn.fetchrow(
            "SELECT n, $1::numeric, $2::timestamptz, $3::uuid, $4::int[] FROM counter",
            decimal.Decimal("-1234.50"), datetime.datetime(2026, 2, 28, tzinfo=datetime.timezone.utc), uuid.UUID(int=7), [1, None])
        assert row["n"] == 5
        names = [record["id"] async for record in conn.cursor("SELECT id FROM counter")]
        assert names == [1]
    await conn.executemany("INSERT INTO counter VALUES ($1, $2)", [(2, 20), (3, 30)])
    await conn.copy_records_to_table("counter", records=[(4, 40)])
    assert await conn.fetchval("SELECT sum(n) FROM counter") == 95
    await conn.close()
    print("fine")


asyncio.run(main())
