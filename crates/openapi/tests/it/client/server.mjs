// A server that answers as the API of the blog, and the client that uses it.
import { createServer } from "node:http";
import { use } from "./use.js";

const requests = [];

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts).toString();
  const { method, url, headers } = request;
  requests.push({ method, url, headers, body });
  const answer = (status, value, more = {}) => {
    const type = status < 400 ? "application/json" : "application/problem+json";
    response.writeHead(status, { "content-type": type, ...more });
    response.end(value === undefined ? "" : JSON.stringify(value));
  };
  const path = url.split("?")[0];
  if (path === "/api/articles" && method === "GET") {
    return answer(200, [{ slug: "a-b", title: "A", tags: [] }], { link: '<?page=2>; rel="next"' });
  }
  if (path === "/api/articles" && headers.authorization !== "Bearer secret") {
    return answer(401, { type: "about:blank", title: "Unauthorized", status: 401 });
  }
  if (path === "/api/articles") {
    const article = JSON.parse(body);
    if (article.title === "") {
      const errors = [{ pointer: "/title", detail: "title is required" }];
      return answer(422, { type: "about:blank", title: "Unprocessable Entity", status: 422, errors });
    }
    return answer(201, { slug: "made", ...article });
  }
  if (method === "PATCH" && headers["if-match"] !== '"1"') {
    return answer(412, { type: "about:blank", title: "Precondition Failed", status: 412 });
  }
  if (method === "PATCH") return answer(200, { slug: decodeURIComponent(path.split("/").pop()), ...JSON.parse(body) });
  if (method === "DELETE") return response.writeHead(204).end();
  if (path.startsWith("/api/files/")) return response.writeHead(200).end(Buffer.from([1, 2, 3]));
  if (path === "/api/") return response.writeHead(200, { "content-type": "text/plain" }).end("hello");
  if (path === "/api/photos") return response.writeHead(201).end();
  if (path === "/api/payments") return answer(200, JSON.parse(body));
  return response.writeHead(500, { "content-type": "text/plain" }).end("out of order");
});

server.listen(0, "127.0.0.1", async () => {
  const checks = await use(`http://127.0.0.1:${server.address().port}/api`, requests);
  console.log(`${checks} checks`);
  server.closeAllConnections();
  server.close();
});
