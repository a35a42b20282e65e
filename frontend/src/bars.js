// Intervals as bars: light where nothing is excluded yet, dark where checked models attain every value's ends.

import { h } from "./dom.js";

/** What an interval is measured on: probabilities from 0 to 1, differences from -1 to 1, ratios as far as they go. */
export function scaleOf(answer) {
  const least = answer.least === undefined ? 0 : answer.least ?? 0;
  let greatest = answer.greatest === undefined ? 1 : answer.greatest;
  if (greatest === null) greatest = Math.max(1, (answer.upper ?? answer.lower_witnessed ?? 1) * 1.15);
  return { least, greatest };
}

const percent = (value, { least, greatest }) =>
  100 * Math.min(1, Math.max(0, (value - least) / (greatest - least)));

/** A bar whose parts move as more is known. */
export class Bar {
  constructor() {
    this.possible = h("span", { class: "possible" });
    this.attained = h("span", { class: "attained" });
    this.left = h("span", { class: "tick" });
    this.right = h("span", { class: "tick" });
    this.element = h("div", { class: "bar", "aria-hidden": "true" }, this.possible, this.attained, this.left, this.right);
  }

  /** Draw what is proved and what is attained; either may not be known yet. */
  draw(answer) {
    const scale = scaleOf(answer);
    const low = percent(answer.lower ?? scale.least, scale);
    const high = percent(answer.upper ?? scale.greatest, scale);
    place(this.possible, low, high);
    this.left.style.left = `${low}%`;
    this.right.style.left = `${high}%`;
    const inner = [answer.lower_witnessed, answer.upper_witnessed].filter((value) => value !== null && value !== undefined);
    this.attained.hidden = inner.length === 0;
    if (inner.length) place(this.attained, percent(Math.min(...inner), scale), percent(Math.max(...inner), scale));
  }
}

function place(element, low, high) {
  element.style.left = `${low}%`;
  element.style.width = `${Math.max(high - low, 0.6)}%`;
}

/** Write a probability for people: four digits, and more only where they are needed. */
export function short(value) {
  if (value === null || value === undefined) return "∞";
  if (value === 0 || Math.abs(value) >= 1e-4) return String(Number(value.toFixed(4)));
  return value.toExponential(1);
}

/** Round outwards to so many decimals, so that what is written still holds. */
export function outwards(value, direction, digits = 3) {
  if (value === null || value === undefined) return direction < 0 ? "−∞" : "∞";
  const scaled = value * 10 ** digits;
  const near = Math.round(scaled);
  const rounded = Math.abs(scaled - near) < 1e-5 ? near : direction < 0 ? Math.floor(scaled) : Math.ceil(scaled);
  return String(rounded / 10 ** digits);
}
