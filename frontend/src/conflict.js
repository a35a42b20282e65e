// A contradiction: the sentences concerned, and what would settle it.

import { $, announce, h } from "./dom.js";
import { sentence } from "./answers.js";
import { Gone, Job } from "./server.js";

export class Conflict {
  constructor(act) {
    this.act = act;
    this.panel = $("#conflict");
  }

  clear() {
    this.job?.stop();
    this.job = null;
    this.panel.hidden = true;
    this.panel.replaceChildren();
    this.places = [];
  }

  /** Look for the conflict of a page that has no model. */
  async look(page) {
    if (this.job) return;
    const job = (this.job = new Job({ ...page, kind: "repairs", seconds: 20 }));
    this.panel.hidden = false;
    this.panel.replaceChildren(h("h3", {}, "No probability distribution fits"), h("p", { class: "quiet" }, "Looking for the sentences to blame, and for a repair…"));
    try {
      for await (const event of job.events()) {
        if (job !== this.job) return;
        if (event.event === "diagnosis") this.diagnosis(event);
        if (event.event === "repair") this.repair(event);
        if (event.event === "failed") this.panel.replaceChildren(h("p", {}, sentence(event.message)));
      }
    } catch (error) {
      if (error instanceof Gone) this.act.gone();
    }
  }

  diagnosis(found) {
    this.places = found.culprits.map((one) => ({ ...one, kind: "conflict" }));
    this.act.mark(this.places);
    const items = found.culprits.map((one) =>
      h(
        "li",
        {},
        h(
          "button",
          { class: "sentence", onclick: () => this.act.show(one) },
          h("span", { class: "where" }, one.line ? `${one.file ? `${one.file}:` : ""}${one.line}` : one.label),
          h("span", { class: "code" }, one.says),
        ),
      ),
    );
    const summary = found.summary || sentence(found.means);
    this.panel.replaceChildren(h("h3", {}, "No probability distribution fits"), h("p", {}, sentence(summary)), h("ul", { class: "sentences" }, ...items), (this.repairs = h("div", { class: "repairs" })));
    announce(`Contradiction. ${summary}`);
  }

  repair(found) {
    if (!this.repairs.children.length) this.repairs.append(h("h4", {}, "What would settle it"));
    const changes = found.changes.map((one) =>
      h("li", {}, h("span", { class: "where" }, one.line ? `${one.file ? `${one.file}:` : ""}${one.line}` : one.label), h("del", { class: "code" }, one.before), " ", h("ins", { class: "code" }, one.after)),
    );
    const button = h("button", { class: "primary", onclick: () => this.act.apply(found.files) }, "Apply");
    const doubt = found.checked ? "" : " That a model then exists was not confirmed in time.";
    this.repairs.append(
      h("div", { class: "repair" }, h("ul", { class: "changes" }, ...changes), h("p", {}, button, h("span", { class: "quiet" }, ` widens bounds by ${Number(found.total.toPrecision(4))} in all.${doubt} ${found.proviso}`))),
    );
  }
}
