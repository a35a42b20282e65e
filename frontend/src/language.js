// The .lcn language for the editor: which words are what, and which may be written next.

import { StreamLanguage, HighlightStyle, LanguageSupport, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

const STATEMENTS =
  "domain evidence from function include independent let number predicate proposition query relation table variable".split(" ");
const CONNECTIVES = "and or xor nand not implies iff forall exists in where distinct".split(" ");
const OTHERS = "column columns learned of rest sql symmetric tau".split(" ");
const KEYWORDS = new Set([...STATEMENTS, ...OTHERS]);
const LOGIC = new Set(CONNECTIVES);

function token(stream) {
  if (stream.eatSpace()) return null;
  if (stream.match(/^#.*/)) return "comment";
  if (stream.match(/^"(?:\\.|[^"\\])*"?/)) return "string";
  if (stream.match(/^[PE](?=\s*\()/)) return "standard(name)";
  if (stream.sol() || /^\s*$/.test(stream.string.slice(0, stream.pos))) {
    if (stream.match(/^[\p{L}_][\p{L}\p{N}_.]*'*(?:\[[^\]]*\])?(?=\s*:)/u)) return "labelName";
  }
  if (stream.match(/^(?:\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][+-]?\d+)?%?/)) return "number";
  const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*'*/u);
  if (word) return named(word[0]);
  if (stream.match(/^(?:<->|->|<=|>=|!=|==|=<|=>|[≤≥⩽⩾≠=<>±])/)) return "compareOperator";
  if (stream.match(/^(?:\+\/?-|[&|^!~¬∧∨⊕→⇒↔⇔∀∃∈])/)) return "logicOperator";
  stream.next();
  return null;
}

function named(word) {
  if (KEYWORDS.has(word)) return "keyword";
  if (LOGIC.has(word)) return "operatorKeyword";
  if (/^([Tt]rue|[Ff]alse)$/.test(word)) return "bool";
  return "variableName";
}

const language = StreamLanguage.define({
  name: "lcn",
  token,
  languageData: { commentTokens: { line: "#" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } },
  tokenTable: {
    "standard(name)": tags.standard(tags.name),
    operatorKeyword: tags.operatorKeyword,
    compareOperator: tags.compareOperator,
    logicOperator: tags.logicOperator,
  },
});

const style = HighlightStyle.define([
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: tags.string, color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: [tags.keyword, tags.bool], color: "var(--code-keyword)", fontWeight: "600" },
  { tag: [tags.operatorKeyword, tags.logicOperator], color: "var(--code-logic)" },
  { tag: tags.compareOperator, color: "var(--muted)" },
  { tag: tags.labelName, color: "var(--code-label)" },
  { tag: tags.standard(tags.name), color: "var(--code-keyword)", fontWeight: "600" },
]);

export const lcn = () => new LanguageSupport(language, syntaxHighlighting(style));

/** Offer names of the model, words of the language, and after `include` or `from` the files there are. */
export function completions(known) {
  return (context) => {
    const file = context.matchBefore(/\b(?:include|from)\s+"[^"\n]*/);
    if (file) {
      const from = file.from + file.text.indexOf('"') + 1;
      return { from, options: known().files.map((label) => ({ label, type: "text" })) };
    }
    const word = context.matchBefore(/[\p{L}_][\p{L}\p{N}_]*/u);
    const line = context.state.doc.lineAt(context.pos);
    const isProse = /#|"[^"]*$/.test(line.text.slice(0, context.pos - line.from));
    if (isProse || (!word && !context.explicit)) return null;
    const names = known().names.map((label) => ({ label, type: "variable", boost: 1 }));
    const words = [...STATEMENTS, ...CONNECTIVES].map((label) => ({ label, type: "keyword" }));
    return { from: word ? word.from : context.pos, options: [...names, ...words] };
  };
}
