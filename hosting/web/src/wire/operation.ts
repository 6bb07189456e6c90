// What the page knows of an operation: how it is asked. The table of all operations is operations.ts.

interface Typed<Request, Result> {
  /** Never there: it ties the types to the operation. */
  readonly types?: (request: Request) => Result;
}

/** An operation that HTTP offers; the fields in braces in its path, and all others, are fields of the request. */
export interface HttpOperation<Request, Result> extends Typed<Request, Result> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
}

/** An operation that Socket.IO offers, by the name of its event. */
export interface SocketOperation<Request, Result> extends Typed<Request, Result> {
  readonly event: string;
}

/** An operation that both offer. */
export type Operation<Request, Result> = HttpOperation<Request, Result> & SocketOperation<Request, Result>;

/** Arguments of a call: the request, which may be left out if each of its fields may be. */
export type Asked<Request> = {} extends Request ? [request?: Request] : [request: Request];
