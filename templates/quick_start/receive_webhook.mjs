// Receives webhooks at http://127.0.0.1:9000/ and verifies them.

import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const key = Buffer.from(process.env.WEBHOOK_SECRET.replace("whsec_", ""), "base64");

// Whether the request was signed with the secret in the last five minutes.
function isGenuine(headers, body) {
  const timestamp = headers["webhook-timestamp"] ?? "";
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - timestamp) > 300) return false;
  const digest = createHmac("sha256", key).update(`${headers["webhook-id"]}.${timestamp}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${digest}`);
  const given = (headers["webhook-signature"] ?? "").split(" ").map((each) => Buffer.from(each));
  return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
}

createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks); // the raw bytes
  if (!isGenuine(request.headers, body)) return response.writeHead(400).end();
  response.writeHead(204).end();
  const event = JSON.parse(body); // take each event.id once
  console.log(event.type, event.data.object.id);
}).listen(Number(process.env.PORT ?? 9000), "127.0.0.1");
