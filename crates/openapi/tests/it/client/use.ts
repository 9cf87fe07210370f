// A program that uses the client of the blog. Its types are checked when it is compiled.
import { ApiError, createClient, type Article, type ArticleInput, type Payment } from "./client.js";

interface Request {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

let checks = 0;

function same(found: unknown, wanted: unknown): void {
  checks += 1;
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== other) throw new Error(`check ${checks}: ${one} is not ${other}`);
}

async function failure(action: Promise<unknown>): Promise<ApiError> {
  try {
    await action;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error("the request succeeds");
}

export async function use(baseUrl: string, requests: Request[]): Promise<number> {
  const last = (): Request => requests[requests.length - 1]!;
  const anonymous = createClient({ baseUrl });
  const client = createClient({ baseUrl: `${baseUrl}/`, token: async () => "secret", headers: { "X-App": "tests" } });

  let link: string | null = null;
  const articles: Article[] = await anonymous.articles.listArticles(
    { tag: ["a b", "c&d"], state: "draft", "X-Trace": "7" },
    { onResponse: (response) => { link = response.headers.get("Link"); } },
  );
  same(articles[0]?.slug, "a-b");
  same(last().url, "/api/articles?tag=a+b&tag=c%26d&state=draft");
  same(last().headers["x-trace"], "7");
  same(link, '<?page=2>; rel="next"');

  const input: ArticleInput = { title: "Sowing", tags: ["garden"], price: "12.30", editor: null };
  same((await failure(anonymous.articles.createArticle(input))).status, 401);
  const made = await client.articles.createArticle(input);
  same([made.slug, made.price, last().headers["x-app"]], ["made", "12.30", "tests"]);
  // @ts-expect-error a read-only field cannot be sent
  await client.articles.createArticle({ title: "a", slug: "b" });
  // @ts-expect-error a read-only field cannot be changed
  made.slug = "other";
  const refused = await failure(client.articles.createArticle({ title: "" }));
  same([refused.status, refused.fields], [422, { "/title": "title is required" }]);

  const changed = await client.articles.updateArticle("a/b ü", { state: "published" }, { ifMatch: '"1"' });
  same(changed.slug, "a/b ü");
  same((await failure(client.articles.updateArticle("a", {}))).problem.title, "Precondition Failed");
  same(await client.articles.deleteArticle("a"), undefined);

  // @ts-expect-error the classes of a union are told apart by `kind`
  const wrong: Payment["by"] = { kind: "card", iban: "X" };
  void wrong;
  const payment = await client.payments.pay({ by: { kind: "instant", iban: "DE02120300000000202051" } });
  same(payment.by.kind === "card" ? payment.by.last : payment.by.iban, "DE02120300000000202051");

  const photo = new Blob(["image"], { type: "image/png" });
  await client.photos.createPhoto({ photo, caption: "A" });
  same(/^multipart\/form-data; boundary=/.test(last().headers["content-type"] ?? "") && last().body.includes("image"), true);
  const file = await client.files.getFiles("a/b c");
  same([last().url, file.size], ["/api/files/a/b%20c", 3]);
  same(await client.root.getRoot(), "hello");
  return checks;
}
