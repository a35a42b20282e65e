// The server, which runs on this machine: what a text amounts to at once, and answers as they are found.

const JSON_BODY = { "Content-Type": "application/json" };

/** The server does not answer any more. */
export class Gone extends Error {}

async function send(path, body, signal) {
  let response;
  try {
    response = await fetch(path, { method: "POST", headers: JSON_BODY, body: JSON.stringify(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Gone();
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({ message: `the server said ${response.status}` }));
  const refused = new Error(said.message);
  refused.told = { event: "failed", kind: "Refused", message: said.message, advice: "" };
  throw refused;
}

export async function examples() {
  const response = await fetch("examples");
  return response.json();
}

/** Ask what a text amounts to, or with kind "node" about one variable. */
export async function read(body, signal) {
  return (await send("read", body, signal)).json();
}

let number = 0;
const prefix = Math.random().toString(36).slice(2);

/** A question under way: `events()` yields what is found, `stop()` ends it with what is known by then. */
export class Job {
  constructor(body) {
    this.id = `${prefix}-${++number}`;
    this.body = { ...body, id: this.id };
    this.control = new AbortController();
  }

  async *events() {
    const response = await send("ask", this.body, this.control.signal);
    let rest = "";
    try {
      for await (const chunk of chunks(response.body.pipeThrough(new TextDecoderStream()))) {
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) yield JSON.parse(block.split("\ndata: ")[1]);
      }
    } catch (error) {
      throw error.name === "AbortError" ? error : new Gone();
    }
  }

  async stop() {
    await send("stop", { id: this.id }).catch(() => this.control.abort());
  }

  /** Give up: the server kills the process. */
  abort() {
    this.control.abort();
  }
}

async function* chunks(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}
