// node-postgres: unnamed and named statements, several connections of a pool at once.
const assert = require("node:assert");
const { Pool } = require("pg");

(async () => {
  const pool = new Pool({ max: 3 });
  assert.strictEqual((await pool.query("SELECT n FROM counter WHERE id = $1", [1])).rows[0].n, 0);
  const named = { name: "add", text: "UPDATE counter SET n = n + $1 WHERE id = $2", values: [1, 1] };
  await pool.query(named);
  await pool.query(named);
  const all = await Promise.all([1, 2, 3].map((id) => pool.query("SELECT $1::int AS id, n FROM counter", [id])));
  assert.deepStrictEqual(all.map((result) => result.rows[0]), [1, 2, 3].map((id) => ({ id, n: 2 })));
  await assert.rejects(pool.query("INSERT INTO counter VALUES (1, 1)"), { code: "23505" });
  const client = await pool.connect();
  await client.query("BEGIN");
  await client.query("UPDATE counter SET n = 50");
  client.release(true);
  await pool.end();
  console.log("fine");
})();
