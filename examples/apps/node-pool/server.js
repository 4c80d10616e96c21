// Redeems vouchers: POST /redeem?code=WELCOME&customer=ann. The handler is the ordinary one: a connection from the pool, a
// transaction, a look at what is left, then the change. `/redeem-atomic` does it in one statement.
const http = require("node:http");
const { Pool } = require("pg");

const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 4 });

async function redeem(client, code, customer) {
  const found = await client.query("SELECT uses_left FROM voucher WHERE code = $1", [code]);
  const left = found.rows[0]?.uses_left ?? 0;
  if (left < 1) return false;
  await client.query("UPDATE voucher SET uses_left = $1 WHERE code = $2", [left - 1, code]);
  await client.query("INSERT INTO redemption (code, customer) VALUES ($1, $2)", [code, customer]);
  return true;
}

async function redeemAtomic(client, code, customer) {
  const taken = await client.query(
    "UPDATE voucher SET uses_left = uses_left - 1 WHERE code = $1 AND uses_left > 0", [code]);
  if (taken.rowCount < 1) return false;
  await client.query("INSERT INTO redemption (code, customer) VALUES ($1, $2)", [code, customer]);
  return true;
}

async function inTransaction(work) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}

const handlers = { "/redeem": redeem, "/redeem-atomic": redeemAtomic };

http.createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  const handler = handlers[url.pathname];
  if (!handler) return response.writeHead(404).end();
  const { code, customer } = Object.fromEntries(url.searchParams);
  try {
    const done = await inTransaction((client) => handler(client, code, customer));
    response.writeHead(done ? 200 : 409).end(done ? "redeemed\n" : "used up\n");
  } catch (error) {
    response.writeHead(500).end(`${error.message}\n`);
  }
}).listen(process.env.PORT, "127.0.0.1");
