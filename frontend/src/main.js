// The page: a model that is read while one types, its graph, and its questions.

import { Card, arrange } from "./answers.js";
import { Conflict } from "./conflict.js";
import { quoted, quotedValue, showDetails } from "./details.js";
import { $, announce, h, settled } from "./dom.js";
import { dialogs, gallery, theme } from "./furniture.js";
import { Editor } from "./editor.js";
import { Graph } from "./graph.js";
import { Gone, Job, examples, read } from "./server.js";
import { packed, unpacked } from "./share.js";

const TYPING = 25;
const THINKING = 350;
const SECONDS = 30;

class Playground {
  constructor() {
    this.known = { names: [], files: [] };
    this.name = "";
    this.asked = [];
    this.given = [];
    this.cards = [];
    this.marginals = new Map();
    this.editor = new Editor($("#editor"), { known: () => this.known, changed: () => this.changed(), asked: () => this.answer() });
    this.graph = new Graph({ chosen: (name) => this.look(name) });
    this.act = {
      show: (place) => this.show(place),
      notice: (places) => this.notice(places),
      mark: () => this.mark(),
      apply: (files) => this.apply(files),
      gone: () => this.gone(),
      failed: (error) => error.kind === "InconsistentNetwork" && this.conflict.look({ ...this.sound, given: this.given }),
      remove: (card) => this.remove(card),
      again: (card, seconds) => card.ask(card.page, seconds).catch((error) => error instanceof Gone && this.gone()),
      download: () => this.download(),
      observe: (formula) => this.observe(formula),
      look: (name) => this.look(name),
      close: () => this.closeDetails(),
    };
    this.conflict = new Conflict(this.act);
    this.readSoon = settled(TYPING, () => this.read());
    this.answerSoon = settled(THINKING, () => this.answer());
    this.keepSoon = settled(400, () => this.keep());
  }

  // ---- the model ------------------------------------------------------------------------------------------

  /** What the server is asked about. */
  page() {
    return { text: this.editor.text(), files: this.editor.files(), given: this.given };
  }

  /** Show another model. */
  load({ name = "", text, files = {}, asked = [], given = [] }) {
    this.name = name;
    this.asked = [...asked];
    this.given = [...given];
    this.editor.load(text, files);
    this.conflict.clear();
    this.closeDetails();
    this.cards.forEach((card) => card.job?.stop());
    this.cards = [];
    this.found = null;
    this.around = null;
    this.tabs();
    this.chips();
    return this.read();
  }

  changed() {
    $("#state").classList.add("typing");
    this.graph.fade();
    this.readSoon();
    this.keepSoon();
  }

  /** Ask what the text amounts to; one reading at a time, and another where the text has changed meanwhile. */
  async read() {
    this.isStale = true;
    if (this.isReading) return;
    this.isReading = true;
    while (this.isStale) {
      this.isStale = false;
      await this.readOnce(this.page());
    }
    this.isReading = false;
  }

  async readOnce(page) {
    try {
      const found = await read({ ...page, around: this.around, formulas: $("#formulas").checked });
      if (!this.isStale) this.take(found, page);
    } catch (error) {
      if (error instanceof Gone) this.gone();
      else if (error.told) this.take({ mistakes: [error.told] }, page);
    }
  }

  /** Show what was read of a page. */
  take(found, page) {
    $("#state").classList.remove("typing");
    $("#gone").hidden = true;
    const mistakes = found.mistakes ?? [found];
    this.mistakes = mistakes;
    this.editor.underline(mistakes);
    this.list(mistakes);
    // The answers are those of the last text without mistakes.
    $("#answers").classList.toggle("stale", mistakes.length > 0);
    this.conflict.clear();
    this.mark();
    this.known.files = Object.keys(this.editor.files());
    if (mistakes.length) {
      this.summary(`${mistakes.length} mistake${mistakes.length === 1 ? "" : "s"}`, true);
      this.graph.fade();
      if (!this.graph.nodes.size) this.graph.say("The graph is drawn as soon as the mistakes are mended.");
      return;
    }
    this.found = found;
    this.sound = page;
    this.known.names = found.names;
    $("#question").placeholder = suggested(found);
    if (found.large) this.summary(`${found.large.message}: questions are answered around their atoms`);
    else this.summary(counted(found));
    this.graph.fresh();
    this.graph.draw(found.graph);
    this.showMarginals();
    if (this.selected) this.look(this.selected, false);
    this.arrange();
    this.answerSoon();
  }

  summary(words, isWrong = false) {
    const state = $("#state");
    if (state.textContent !== words) state.textContent = words;
    state.classList.toggle("wrong", isWrong);
  }

  /** List mistakes below the editor, for those who cannot hover. */
  list(mistakes) {
    const items = mistakes.map((one) =>
      h(
        "li",
        {},
        h(
          "button",
          { class: "sentence", onclick: () => one.line && this.show(one) },
          h("span", { class: "where" }, one.line ? `${one.file ? `${one.file}:` : "line "}${one.line}` : ""),
          h("span", {}, one.message, one.advice ? h("span", { class: "advice" }, ` ${one.advice}`) : null),
        ),
      ),
    );
    $("#mistakes").replaceChildren(...items);
  }

  show(place) {
    if (!place.line) return;
    this.open(place.file ?? "");
    this.editor.show(place.line, place.column ?? 1);
  }

  notice(places) {
    this.noticed = places;
    this.mark();
  }

  mark() {
    this.editor.mark([...(this.conflict.places ?? []), ...(this.noticed ?? [])]);
  }

  /** Change the files as a repair says. */
  apply(files) {
    for (const [file, text] of Object.entries(files)) this.editor.replace(file, text);
    this.keep();
    announce("The repair was applied. One step back undoes it.");
    return this.read();
  }

  // ---- files ----------------------------------------------------------------------------------------------

  open(file) {
    this.editor.open(file);
    this.tabs();
    this.editor.underline(this.mistakes ?? []);
    this.mark();
  }

  tabs() {
    const names = ["", ...Object.keys(this.editor.files())];
    const tab = (name) => {
      const isOpen = name === this.editor.file;
      const words = name || (this.name ? this.name.replace(/^.*\//, "").replace(/(\.lcn)?$/, ".lcn") : "model.lcn");
      return h(
        "span",
        { class: "tab" },
        h("button", { role: "tab", "aria-selected": String(isOpen), tabindex: isOpen ? 0 : -1, onclick: () => this.open(name), onkeydown: steps }, words),
        name && h("button", { class: "plain", "aria-label": `Remove ${name}`, onclick: () => this.discard(name) }, "×"),
      );
    };
    $("#tabs").replaceChildren(...names.map(tab));
  }

  discard(name) {
    this.editor.remove(name);
    this.tabs();
    this.changed();
  }

  async addFiles(list) {
    for (const file of list) this.editor.add(file.name, await file.text());
    this.tabs();
    this.changed();
  }

  // ---- questions ------------------------------------------------------------------------------------------

  /** Have a card for each question of the text, and for each that was asked below it. */
  arrange() {
    const wanted = [...new Set([...(this.found?.queries ?? []), ...this.asked])];
    const before = new Map(this.cards.map((card) => [card.question, card]));
    for (const card of this.cards) if (!wanted.includes(card.question)) card.job?.stop();
    this.cards = wanted.map((question) => before.get(question) ?? new Card(question, { mayLeave: this.asked.includes(question), act: this.act }));
    arrange(this.cards);
    $("#none").hidden = this.cards.length > 0;
  }

  /** Answer all questions, one after the other, and beside them the marginals. */
  async answer() {
    if (this.mistakes?.length || !this.found) return;
    const page = { ...this.sound, given: this.given };
    const run = (this.run = {});
    this.sweeping?.stop();
    const waiting = [...this.cards];
    const hand = async () => {
      for (let card = waiting.shift(); card && run === this.run; card = waiting.shift()) await card.ask(page, SECONDS);
    };
    try {
      await Promise.all([hand(), this.sweep(page).then(hand)]);
    } catch (error) {
      if (error instanceof Gone) this.gone();
    }
  }

  ask(question) {
    if (!question || this.asked.includes(question)) return;
    this.asked.push(question);
    this.arrange();
    this.keep();
    const card = this.cards.find((each) => each.question === question);
    card.element.scrollIntoView({ block: "nearest" });
    card.ask({ ...(this.sound ?? this.page()), given: this.given }, SECONDS).catch((error) => error instanceof Gone && this.gone());
  }

  remove(card) {
    card.job?.stop();
    this.asked = this.asked.filter((question) => question !== card.question);
    this.arrange();
    this.keep();
    $("#question").focus();
  }

  /** Find the marginals of all variables, and write them on the nodes. */
  async sweep(page) {
    if (!this.found.graph) return;
    const job = (this.sweeping = new Job({ ...page, kind: "marginals", seconds: SECONDS, names: drawnNames(this.found.graph) }));
    const marginals = new Map();
    this.graph.age();
    for await (const event of job.events()) {
      if (job !== this.sweeping) return;
      if (event.event === "failed" && event.kind === "InconsistentNetwork") this.act.failed(event);
      if (event.event !== "marginal") continue;
      marginals.set(event.name, [...(marginals.get(event.name) ?? []), event]);
      this.graph.marginal(event);
    }
    this.marginals = marginals;
    $("#graph").dataset.marginals = String(marginals.size);
    if (this.selected) this.look(this.selected, false);
  }

  showMarginals() {
    for (const found of this.marginals.values()) found.forEach((one) => this.graph.marginal(one));
  }

  // ---- what was observed ----------------------------------------------------------------------------------

  observe(formula) {
    const isAbout = (one) => one.replace(/^!/, "").split(" = ")[0];
    this.given = [...this.given.filter((one) => isAbout(one) !== isAbout(formula)), formula];
    this.observed(`Observed: ${formula}`);
  }

  forget(formula) {
    this.given = this.given.filter((one) => one !== formula);
    this.observed(`No longer observed: ${formula}`);
  }

  observed(words) {
    this.chips();
    announce(words);
    this.keep();
    this.conflict.clear();
    this.mark();
    this.read();
  }

  chips() {
    const chip = (formula) => h("span", { class: "chip" }, h("span", { class: "code" }, formula), h("button", { class: "plain", "aria-label": `Forget ${formula}`, onclick: () => this.forget(formula) }, "×"));
    $("#observed").replaceChildren(...(this.given.length ? [h("span", { class: "quiet" }, "Observed"), ...this.given.map(chip)] : []));
  }

  // ---- one variable ---------------------------------------------------------------------------------------

  async look(name, isFocused = true) {
    this.selected = name;
    this.graph.select(name);
    try {
      const node = await read({ ...(this.sound ?? this.page()), kind: "node", name });
      if (node.event !== "node") return this.closeDetails();
      if (this.selected === name) showDetails(node, this.marginals.get(name) ?? [], this.act, isFocused);
      if (isFocused && this.found?.graph && this.found.graph.nodes.length < this.found.graph.variables && this.around !== name) {
        this.around = name;
        await this.read();
      }
    } catch (error) {
      if (error instanceof Gone) this.gone();
    }
  }

  closeDetails() {
    const name = this.selected;
    this.selected = null;
    this.graph.select(null);
    $("#details").hidden = true;
    this.noticed = [];
    this.graph.nodes.get(name)?.group.focus();
  }

  // ---- the address ----------------------------------------------------------------------------------------

  document() {
    return { name: this.name, text: this.editor.text(), files: this.editor.files(), asked: this.asked, given: this.given };
  }

  /** Keep the model in the address, so that nothing is lost and it can be shared. */
  async keep(isNew = false) {
    const fragment = await packed(this.document());
    if (fragment === location.hash) return;
    if (isNew) history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
  }

  async enter(model) {
    await this.load(model);
    await this.keep(true);
  }

  async fromAddress() {
    const model = await unpacked(location.hash);
    if (model) await this.load(model);
    return model !== null;
  }

  download() {
    const link = h("a", { href: URL.createObjectURL(new Blob([this.editor.text()], { type: "text/plain" })), download: "model.lcn" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  gone() {
    $("#gone").hidden = false;
    this.cards.forEach((card) => card.element.classList.remove("working"));
    announce("The playground has ended.");
  }
}

function counted({ counts, evidence, tied, wanted }) {
  const many = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  const ties = tied.length ? `, ${many(tied.length, "tie")}` : "";
  return `${many(counts.sentences, "sentence")} about ${many(counts.variables, "variable")}${ties}${evidence ? `, given ${evidence}` : ""}${wanted ? `; ${many(wanted, "number")} still to be learned from data` : ""}`;
}

/** The variables that are drawn, where these are not all: the nearest to the one in the middle first. */
function drawnNames({ nodes, focus }) {
  const middle = nodes.find((node) => node.name === focus);
  if (!middle) return [];
  const distance = (node) => Math.hypot(node.x - middle.x, node.y - middle.y);
  return [...nodes].sort((one, other) => distance(one) - distance(other)).map((node) => node.name);
}

/** Suggest a question about the model. */
function suggested({ graph, values }) {
  const [first, second] = (graph?.nodes ?? []).filter((node) => node.kind !== "formula" && node.kind !== "brace").map((node) => node.name);
  const atom = (name) => (values?.[name] ? `${quoted(name)} = ${quotedValue(values[name][0])}` : quoted(name));
  if (!first) return "P(a | b)";
  return second ? `P(${atom(second)} | ${atom(first)})` : `P(${atom(first)})`;
}

/** Arrow keys go from tab to tab. */
function steps(event) {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const tabs = [...$("#tabs").querySelectorAll("[role=tab]")];
  const next = tabs[(tabs.indexOf(event.currentTarget) + step + tabs.length) % tabs.length];
  const words = next.textContent;
  next.click();
  [...$("#tabs").querySelectorAll("[role=tab]")].find((tab) => tab.textContent === words)?.focus();
}

async function main() {
  theme();
  const playground = new Playground();
  const { examples: listed, opened } = await examples();
  dialogs(playground);
  gallery(listed, (example) => playground.enter(example));
  $("#ask").addEventListener("submit", (event) => {
    event.preventDefault();
    const words = $("#question").value.trim();
    playground.ask(/\bP\s*\(|(^|[-+*/])\s*E\s*\(/.test(words) ? words : words && `P(${words})`);
    $("#question").value = "";
  });
  $("#formulas").addEventListener("change", () => playground.read());
  $("#files").addEventListener("change", async (event) => {
    await playground.addFiles(event.target.files);
    event.target.value = "";
  });
  addEventListener("popstate", () => playground.fromAddress());
  if (!(await playground.fromAddress())) {
    await playground.load(opened ?? listed[0]);
    await playground.keep();
  }
  document.body.dataset.ready = "true";
}

main();
