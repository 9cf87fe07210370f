/** Why a request failed (RFC 9457). */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail?: string;
  instance?: string;
  errors?: FieldProblem[];
}

/** An invalid field: a JSON pointer (RFC 6901), and what is wrong. */
export interface FieldProblem {
  pointer: string;
  detail: string;
}

/** An answer that is no success. */
export class ApiError extends Error {
  readonly status: number;
  readonly problem: Problem;
  readonly response: Response;

  constructor(problem: Problem, response: Response) {
    super(problem.detail ?? problem.title);
    this.name = "ApiError";
    this.status = response.status;
    this.problem = problem;
    this.response = response;
  }

  /** The messages of invalid fields by their JSON pointers. */
  get fields(): Record<string, string> {
    const fields: Record<string, string> = {};
    for (const field of this.problem.errors ?? []) fields[field.pointer] ??= field.detail;
    return fields;
  }
}

export interface ClientOptions {
  /** Where the API is; without it, where its document says. */
  baseUrl?: string;
  /** A token for `Authorization: Bearer`, or a function that answers the current one. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Headers of every request. */
  headers?: Record<string, string>;
  /** What sends requests instead of the global `fetch`. */
  fetch?: typeof fetch;
}

export interface RequestOptions {
  /** Aborts the request. */
  signal?: AbortSignal;
  /** Further headers. */
  headers?: Record<string, string>;
  /** Gets the response before its content is read: for headers such as `ETag` and `Link`. */
  onResponse?: (response: Response) => void;
}

export interface ConditionalOptions extends RequestOptions {
  /** Writes only while the content has this entity tag; otherwise the status of the error is 412. */
  ifMatch?: string;
  /** Reads only content with another entity tag; otherwise the status of the error is 304. */
  ifNoneMatch?: string;
}

type Body = "json" | "form" | "multipart" | "raw";
type Result = "json" | "text" | "blob" | "none";

interface Call {
  method: string;
  path: string;
  query?: Record<string, unknown>;
  headers?: Record<string, unknown>;
  body?: unknown;
  as?: Body;
  media?: string;
  accept?: string;
  result: Result;
  options: ConditionalOptions | undefined;
}

function encoded(value: string | number | boolean): string {
  return encodeURIComponent(String(value));
}

function entries(values: object): [string, string | Blob][] {
  const found: [string, string | Blob][] = [];
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === undefined || one === null) continue;
      const plain = typeof one === "object" && !(one instanceof Blob);
      found.push([name, one instanceof Blob ? one : plain ? JSON.stringify(one) : String(one)]);
    }
  }
  return found;
}

function bodyOf(call: Call): BodyInit {
  switch (call.as) {
    case "multipart": {
      const form = new FormData();
      for (const [name, value] of entries(call.body as object)) form.append(name, value);
      return form;
    }
    case "form": {
      const form = new URLSearchParams();
      for (const [name, value] of entries(call.body as object)) form.append(name, String(value));
      return form;
    }
    case "raw":
      return call.body as BodyInit;
    default:
      return JSON.stringify(call.body);
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    const parsed = JSON.parse(text) as Problem;
    if (typeof parsed === "object" && parsed !== null && typeof parsed.title === "string") return parsed;
  } catch {
    // Not JSON: the text itself is the detail.
  }
  const title = response.statusText || `Status ${response.status}`;
  return { type: "about:blank", title, status: response.status, ...(text && { detail: text }) };
}

async function send<T>(client: ClientOptions, call: Call): Promise<T> {
  const base = (client.baseUrl ?? DEFAULT_BASE_URL).replace(/\/+$/, "");
  const query = new URLSearchParams();
  for (const [name, value] of entries(call.query ?? {})) query.append(name, String(value));
  const asked = query.toString();
  const headers = new Headers(client.headers);
  const token = typeof client.token === "function" ? await client.token() : client.token;
  if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
  headers.set("Accept", call.accept ? `${call.accept}, application/problem+json` : "application/problem+json, */*;q=0.5");
  for (const [name, value] of entries(call.headers ?? {})) headers.set(name, String(value));
  if (call.options?.ifMatch !== undefined) headers.set("If-Match", call.options.ifMatch);
  if (call.options?.ifNoneMatch !== undefined) headers.set("If-None-Match", call.options.ifNoneMatch);
  const init: RequestInit = { method: call.method, headers, signal: call.options?.signal ?? null };
  if (call.body !== undefined) {
    init.body = bodyOf(call);
    // A form states its own media type, with the boundary of its parts.
    if (call.media && call.as !== "multipart" && call.as !== "form") headers.set("Content-Type", call.media);
  }
  for (const [name, value] of Object.entries(call.options?.headers ?? {})) headers.set(name, value);
  const response = await (client.fetch ?? fetch)(`${base}${call.path}${asked && `?${asked}`}`, init);
  call.options?.onResponse?.(response);
  if (!response.ok) throw new ApiError(await problemOf(response), response);
  if (call.result === "none" || response.status === 204) return undefined as T;
  if (call.result === "text") return (await response.text()) as T;
  if (call.result === "blob") return (await response.blob()) as T;
  return (await response.json()) as T;
}
