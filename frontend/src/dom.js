// Elements. Text is only ever set as text, so that nothing a model says can become part of the page.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: properties beginning with "on" are listeners, all others attributes. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** Make an element of a picture. */
export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Find one element of the page. */
export const $ = (selector) => document.querySelector(selector);

/** Say something to those who listen instead of looking. */
export function announce(words) {
  $("#spoken").textContent = words;
}

/** Let a burst of calls be one call, some milliseconds after the last. */
export function settled(wait, call) {
  let timer;
  return (...words) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...words), wait);
  };
}
