// What stands round the model: dialogs, the gallery, light and dark.

import { $, announce, h } from "./dom.js";

/** Follow the system's light or dark, until somebody chooses. */
export function theme() {
  const stored = localStorage.getItem("theme");
  if (stored) document.documentElement.dataset.theme = stored;
  const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => {
    $("#theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
    $("#theme").textContent = isDark() ? "Light" : "Dark";
  };
  $("#theme").addEventListener("click", () => {
    const chosen = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = chosen;
    localStorage.setItem("theme", chosen);
    label();
  });
  label();
}

/** Let buttons open dialogs. */
export function dialogs(playground) {
  for (const button of document.querySelectorAll("[data-dialog]")) {
    button.addEventListener("click", () => $(`#${button.dataset.dialog}`).showModal());
  }
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector(".close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
  $("#share-button").addEventListener("click", async () => {
    await playground.keep();
    $("#share-link").value = location.href;
    $("#share-size").textContent = `${location.href.length.toLocaleString("en")} characters.`;
    $("#share").showModal();
    $("#share-link").select();
  });
  $("#copy").addEventListener("click", async () => {
    $("#share-link").select();
    await navigator.clipboard?.writeText($("#share-link").value).catch(() => document.execCommand("copy"));
    $("#copied").textContent = "Copied.";
    announce("The address was copied.");
  });
}

/** List the examples. */
export function gallery(examples, chosen) {
  const items = examples.map((one) =>
    h(
      "li",
      {},
      h(
        "button",
        {
          class: "example",
          onclick: () => {
            $("#gallery").close();
            chosen(one);
          },
        },
        h("strong", {}, one.title),
        h("span", {}, one.shows),
      ),
    ),
  );
  $("#examples").replaceChildren(...items);
}
