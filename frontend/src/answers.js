// Questions and their answers: an interval that closes, and behind it reasons, models and proofs.

import { $, announce, h } from "./dom.js";
import { Bar, short } from "./bars.js";
import { Gone, Job } from "./server.js";

const STATUS = {
  EXACT: ["exact", "Both ends are attained by models that were checked, and no model passes them."],
  BOUNDED: ["bounded", "It is proved that no model lies outside; the truth may be narrower."],
  APPROXIMATE: ["approximate", "An estimate: neither end is proved."],
  UNDECIDED: ["undecided", "Nothing could be said in time."],
  INTERRUPTED: ["stopped", "Stopped: what was proved by then holds; the truth may be narrower."],
};

/** The most seconds that the server gives a question. */
const LONGEST = 600;

/** One question on the page. */
export class Card {
  constructor(question, { mayLeave, act }) {
    this.question = question;
    this.act = act;
    this.bar = new Bar();
    this.low = h("span", { class: "low" });
    this.high = h("span", { class: "high" });
    this.status = h("p", { class: "status" });
    this.more = h("div", { class: "more", hidden: true });
    this.stopper = h("button", { class: "stop", hidden: true, onclick: () => this.stop() }, "Stop");
    this.opener = h(
      "button",
      { class: "question", "aria-expanded": "false", onclick: () => this.toggle(), title: "Why, which models, and a proof" },
      h("span", { class: "code" }, question),
    );
    const remover = mayLeave ? h("button", { class: "plain", "aria-label": `Remove ${question}`, onclick: () => act.remove(this) }, "×") : null;
    const numbers = h("span", { class: "numbers" }, this.low, h("span", { class: "to" }, "to"), this.high);
    this.element = h(
      "li",
      { class: "card", "data-question": question },
      h("div", { class: "head" }, this.opener, numbers, this.stopper, remover),
      this.bar.element,
      h("div", { class: "axis", "aria-hidden": "true" }, (this.least = h("span", {}, "0")), (this.greatest = h("span", {}, "1"))),
      this.status,
      this.more,
    );
    this.bar.element.addEventListener("click", () => this.toggle());
    this.known = {};
    this.clear();
  }

  clear() {
    this.low.textContent = this.high.textContent = "";
    this.status.textContent = "";
    this.bar.draw({});
  }

  /** Answer the question about a page. */
  async ask(page, seconds) {
    this.job?.stop();
    const job = (this.job = new Job({ ...page, kind: "ask", question: this.question, seconds }));
    // What was proved of the same page before still holds.
    this.before = page === this.page ? this.answer : null;
    this.page = page;
    this.seconds = seconds;
    this.known = {};
    this.answer = null;
    this.isStopping = false;
    this.element.classList.add("working");
    this.element.classList.remove("failed");
    this.close();
    // A stop button that flashes by is no use to anybody.
    const timer = setTimeout(() => {
      this.stopper.hidden = false;
      if (!this.known.lower && !this.known.upper) this.clear();
      this.say("working…");
    }, 350);
    try {
      for await (const event of job.events()) {
        if (job !== this.job) continue;
        this.take(event);
      }
    } catch (error) {
      if (error instanceof Gone) throw error;
      if (job === this.job) this.fail(error.told ?? { message: "stopped", kind: "Stopped" });
    } finally {
      clearTimeout(timer);
      if (job === this.job) {
        this.element.classList.remove("working");
        this.stopper.hidden = true;
        this.job = null;
      }
    }
  }

  take(event) {
    if (event.event === "progress") this.progress(event);
    else if (event.event === "answer") this.finish(event);
    else if (event.event === "reasons") this.status.append(h("span", { class: "reason" }, ` ${event.reasons.join(" ")}`));
    else if (event.event === "failed") this.fail(event);
  }

  progress({ end, bound, witnessed, seconds, leaves }) {
    this.known[end] = bound;
    if (witnessed !== null) this.known[`${end}_witnessed`] = witnessed;
    this.bar.draw(this.known);
    this.low.textContent = short(this.known.lower ?? 0);
    this.high.textContent = short(this.known.upper ?? 1);
    const cases = leaves ? `, ${leaves.toLocaleString("en")} cases` : "";
    this.say(`closing in… ${seconds.toFixed(1)} s${cases}`);
  }

  finish(found) {
    const answer = joined(found, this.before);
    this.answer = answer;
    this.known = answer;
    this.bar.draw(answer);
    this.low.textContent = answer.low === "inf" ? "∞" : answer.low;
    this.high.textContent = answer.high === "inf" ? "∞" : answer.high;
    this.element.classList.toggle("point", answer.low === answer.high);
    this.least.textContent = answer.least === undefined ? "0" : answer.least === null ? "−∞" : String(answer.least);
    this.greatest.textContent = answer.greatest === undefined ? "1" : answer.greatest === null ? "∞" : String(answer.greatest);
    const [word, meaning] = STATUS[answer.status] ?? [answer.status.toLowerCase(), ""];
    this.element.dataset.status = word;
    this.status.replaceChildren(h("strong", {}, word), ` ${meaning} `, h("span", { class: "quiet" }, `${answer.seconds.toFixed(2)}\u00a0s`));
    const longer = Math.min(4 * this.seconds, LONGEST);
    if (answer.status !== "EXACT" && longer > this.seconds) {
      this.status.append(" ", h("button", { class: "again", onclick: () => this.act.again(this, longer) }, `Look for ${longer} s`));
    }
    announce(`${answer.query} lies between ${answer.low} and ${answer.high}: ${word}.`);
  }

  fail(error) {
    const isStopped = error.kind === "Stopped" || (this.isStopping && error.kind === "Killed");
    this.element.dataset.status = isStopped ? "stopped" : "failed";
    if (isStopped && this.before) {
      this.finish(this.before);
      return;
    }
    if (isStopped) {
      // What was reported of the bounds holds; what attains them was not checked to the end.
      this.bar.draw({ lower: this.known.lower, upper: this.known.upper });
      this.say(this.known.lower === undefined ? "stopped before anything was found" : "stopped: these bounds were reached by then");
      return;
    }
    this.known = {};
    this.clear();
    this.element.classList.add("failed");
    this.status.replaceChildren(h("strong", {}, sentence(error.message)), error.advice && error.kind !== "InconsistentNetwork" ? ` ${error.advice}` : "");
    announce(`${this.question}: ${error.message}`);
    this.act.failed(error);
  }

  say(words) {
    this.status.textContent = words;
  }

  stop() {
    this.isStopping = true;
    this.say("stopping…");
    this.job?.stop();
  }

  toggle() {
    if (this.more.hidden && this.answer) this.open();
    else this.close();
  }

  close() {
    this.more.hidden = true;
    this.more.replaceChildren();
    this.inner?.stop();
    this.inner = null;
    this.opener.setAttribute("aria-expanded", "false");
  }

  /** Show the three ways to look behind an answer. */
  open() {
    this.opener.setAttribute("aria-expanded", "true");
    this.more.hidden = false;
    const body = h("div", { class: "body", "aria-live": "polite" });
    const choices = [
      ["Why these ends?", "explain", explained],
      ["Models that attain them", "witness", witnessed],
      ["A proof", "certificate", certified],
    ];
    const buttons = choices.map(([words, kind, show]) => {
      const button = h("button", { "aria-pressed": "false", onclick: () => this.look(kind, show, body, buttons, button) }, words);
      return button;
    });
    this.more.replaceChildren(h("div", { class: "choices", role: "group", "aria-label": "Look behind the answer" }, ...buttons), body);
    buttons[0].click();
  }

  async look(kind, show, body, buttons, chosen) {
    this.inner?.stop();
    for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
    const job = (this.inner = new Job({ ...this.page, kind, question: this.question, seconds: 20 }));
    body.replaceChildren(h("p", { class: "quiet" }, "looking…"));
    const events = [];
    try {
      for await (const event of job.events()) events.push(event);
    } catch {
      events.push({ event: "failed", message: "the playground does not answer", advice: "" });
    }
    if (job !== this.inner) return;
    const failed = events.find((event) => event.event === "failed");
    body.replaceChildren(...(failed ? [h("p", {}, `${sentence(failed.message)} ${failed.advice ?? ""}`)] : show(events, this)));
  }
}

/** What two answers to one question say together: the tighter bound and the farther model of each end. */
function joined(answer, before) {
  if (!before) return answer;
  const better = { ...answer };
  if (before.lower > answer.lower) Object.assign(better, { lower: before.lower, low: before.low });
  if (before.upper !== null && (answer.upper === null || before.upper < answer.upper)) Object.assign(better, { upper: before.upper, high: before.high });
  const attained = (end, pick) => {
    const known = [answer[end], before[end]].filter((value) => value !== null);
    return known.length ? pick(...known) : null;
  };
  better.lower_witnessed = attained("lower_witnessed", Math.min);
  better.upper_witnessed = attained("upper_witnessed", Math.max);
  return better;
}

export const sentence = (words) => `${words.charAt(0).toUpperCase()}${words.slice(1)}${/[.!?]$/.test(words) ? "" : "."}`;

// ---- behind an answer ----------------------------------------------------------------------------------

function explained(events, card) {
  const summary = events.find((event) => event.event === "explained");
  const holding = (end) => events.filter((event) => event.event === "holds" && event.end === end);
  const list = (end, bound) => {
    const found = holding(end);
    const words = found.length ? `The ${end} end, ${bound}, is held by` : `No single sentence holds the ${end} end, ${bound}.`;
    return [h("h4", {}, words), h("ul", { class: "sentences" }, ...found.map((one) => held(one, card)))];
  };
  const rest = `${summary.silent} other${summary.silent === 1 ? "" : "s"} cannot matter${summary.untried ? `; ${summary.untried} were not tried` : ""}. ${summary.doubt}`;
  return [...list("lower", summary.low), ...list("upper", summary.high), h("p", { class: "quiet" }, rest)];
}

function held(one, card) {
  const where = one.line ? `${one.file ? `${one.file}:` : ""}${one.line}` : "";
  const act = card.act;
  return h(
    "li",
    {},
    h(
      "button",
      { class: "sentence", onclick: () => act.show(one), onmouseenter: () => act.notice([one]), onmouseleave: () => act.notice([]) },
      h("span", { class: "where" }, where),
      h("span", { class: "code" }, one.says),
      h("span", { class: "quiet" }, `without it ${one.without.low} to ${one.without.high}`),
    ),
  );
}

function witnessed(events) {
  const found = events.filter((event) => event.event === "witness");
  const tables = found.map((one) => {
    const which = one.end === "lower" ? "The model with the least value" : "The model with the greatest value";
    if (!one.rows) return h("div", {}, h("h4", {}, which), h("p", {}, "None was found yet."));
    const rows = one.rows.map((row) => h("tr", {}, h("th", { scope: "row", class: "code" }, row.says), h("td", {}, short(row.chance))));
    return h("div", {}, h("h4", {}, `${which}, ${short(one.attained)}`), h("table", {}, h("tbody", {}, ...rows)));
  });
  const note = "One conditional table for each variable that bears on the question: a Bayesian network that satisfies every sentence. Where variables are tied it stands for one with the same values of all that is said and asked.";
  return [h("div", { class: "models" }, ...tables), h("p", { class: "quiet" }, note)];
}

function certified(events, card) {
  const found = events.find((event) => event.event === "certificate");
  const download = () => {
    const bytes = Uint8Array.from(atob(found.content), (letter) => letter.charCodeAt(0));
    const link = h("a", { href: URL.createObjectURL(new Blob([bytes])), download: "answer.cert" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  };
  const claims = found.claims.map((words) => h("li", { class: "code" }, words));
  const missing = found.missing.map((words) => h("li", {}, `Not proved: ${words}.`));
  return [
    h("p", {}, claims.length ? "Checked again in exact fractions, without any solver:" : "Nothing could be proved in time."),
    h("ul", { class: "claims" }, ...claims, ...missing),
    h("p", {}, h("button", { class: "primary", onclick: download }, "Download the certificate"), " ", h("button", { onclick: card.act.download }, "Download the model")),
    h("p", { class: "quiet" }, "Anybody can check it: credalog verify model.lcn answer.cert"),
  ];
}

/** Put cards into the list, those of the text first. */
export function arrange(cards) {
  $("#answers").replaceChildren(...cards.map((card) => card.element));
}
