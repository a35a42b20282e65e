// The editor: a text per file, mistakes under their words, lines that matter marked.

import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import {
  Decoration,
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { completions, lcn } from "./language.js";

const mark = StateEffect.define();
const conflict = Decoration.line({ class: "cm-conflict" });
const noticed = Decoration.line({ class: "cm-noticed" });

/** Lines that a contradiction, or somebody's pointer, is about. */
const marks = StateField.define({
  create: () => Decoration.none,
  update(found, transaction) {
    let lines = found.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(mark)) lines = marked(transaction.state, effect.value);
    }
    return lines;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function marked(state, places) {
  const found = [];
  for (const { line, lines = 1, kind } of places) {
    for (let n = line; n < line + lines && n <= state.doc.lines; n++) {
      found.push((kind === "conflict" ? conflict : noticed).range(state.doc.line(n).from));
    }
  }
  return Decoration.set(found, true);
}

export class Editor {
  constructor(parent, { known, changed, asked }) {
    const nonce = document.querySelector("meta[name=csp-nonce]").content;
    this.extensions = [
      lineNumbers(),
      highlightActiveLineGutter(),
      highlightSpecialChars(),
      history(),
      drawSelection(),
      bracketMatching(),
      closeBrackets(),
      autocompletion({ override: [completions(known)] }),
      highlightActiveLine(),
      lintGutter(),
      marks,
      EditorState.tabSize.of(4),
      keymap.of([
        { key: "Mod-Enter", run: () => (asked(), true) },
        ...closeBracketsKeymap,
        ...defaultKeymap,
        ...historyKeymap,
        ...completionKeymap,
        ...lintKeymap,
      ]),
      EditorView.lineWrapping,
      EditorView.cspNonce.of(nonce),
      EditorView.contentAttributes.of({ "aria-label": "Text of the model", spellcheck: "false" }),
      EditorView.updateListener.of((update) => update.docChanged && !this.isLoading && changed()),
    ];
    this.view = new EditorView({ parent, state: this.state("", "") });
    this.states = new Map();
    this.file = "";
  }

  state(text, file) {
    const language = file === "" || file.endsWith(".lcn") ? [lcn()] : [];
    return EditorState.create({ doc: text, extensions: [...this.extensions, ...language] });
  }

  /** Replace everything by another model: its text, and the files beside it. */
  load(text, files) {
    this.states = new Map(Object.entries(files).map(([name, each]) => [name, this.state(each, name)]));
    this.states.set("", this.state(text, ""));
    this.file = "";
    this.view.setState(this.states.get(""));
  }

  keep() {
    this.states.set(this.file, this.view.state);
  }

  /** Show one of the files. */
  open(file) {
    if (file === this.file || !this.states.has(file)) return;
    this.keep();
    this.file = file;
    this.view.setState(this.states.get(file));
  }

  add(name, text) {
    this.states.set(name, this.state(text, name));
  }

  remove(name) {
    if (this.file === name) this.open("");
    this.states.delete(name);
  }

  text(file = "") {
    return (file === this.file ? this.view.state : this.states.get(file)).doc.toString();
  }

  files() {
    const names = [...this.states.keys()].filter((name) => name !== "");
    return Object.fromEntries(names.map((name) => [name, this.text(name)]));
  }

  /** Change the text of a file, so that one step back undoes it. */
  replace(file, text) {
    const change = (state) => ({ changes: { from: 0, to: state.doc.length, insert: text } });
    if (file === this.file) this.view.dispatch(change(this.view.state));
    else this.states.set(file, this.states.get(file).update(change(this.states.get(file))).state);
  }

  /** Underline mistakes of the file that is shown. */
  underline(mistakes) {
    const { doc } = this.view.state;
    const found = mistakes.filter((one) => one.line && (one.file || "") === this.file && one.line <= doc.lines);
    const diagnostics = found.map((one) => {
      const line = doc.line(one.line);
      const from = Math.min(line.from + one.column - 1, line.to);
      const to = Math.min(Math.max(line.from + one.end - 1, from), line.to);
      const message = one.advice ? `${one.message}\n${one.advice}` : one.message;
      return { from, to: Math.max(to, Math.min(from + 1, line.to)), severity: "error", message };
    });
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }

  /** Mark lines of the file that is shown. */
  mark(places) {
    const here = places.filter((one) => one.line && (one.file || "") === this.file);
    this.view.dispatch({ effects: mark.of(here) });
  }

  /** Go to a line. */
  show(line, column = 1) {
    const { doc } = this.view.state;
    const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const anchor = Math.min(found.from + column - 1, found.to);
    this.view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: "center" }) });
    this.view.focus();
  }
}
