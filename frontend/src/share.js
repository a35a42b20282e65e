// A model in an address: compressed into the part behind #, which no browser sends anywhere.

const FORM = "deflate-raw";
const MOST = 4_000_000;

async function through(bytes, stream) {
  const packed = new Blob([bytes]).stream().pipeThrough(stream);
  const reader = packed.getReader();
  const parts = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > MOST) throw new Error("too long");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function unbase64(text) {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

/** Write a document as the fragment of an address. */
export async function packed(model) {
  const bytes = new TextEncoder().encode(JSON.stringify(model));
  return `#m=${base64(await through(bytes, new CompressionStream(FORM)))}`;
}

/** Read a document from a fragment; null where there is none, or one that nobody wrote. */
export async function unpacked(fragment) {
  const found = /^#m=([\w-]+)$/.exec(fragment);
  if (!found) return null;
  try {
    const bytes = await through(unbase64(found[1]), new DecompressionStream(FORM));
    return checked(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}

const isText = (value) => typeof value === "string";

function checked(model) {
  const { name = "", text, files = {}, asked = [], given = [] } = model;
  const texts = [name, text, ...Object.values(files), ...asked, ...given];
  if (!texts.every(isText)) throw new Error("not a model");
  return { name, text, files: { ...files }, asked: [...asked], given: [...given] };
}
