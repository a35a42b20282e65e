"""The playground in a real browser: what a person types, clicks, sees and hears."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import credalog
from playing import CONTRADICTION, COUGH, Served, hard, packed, playground

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.xdist_group("play"), pytest.mark.slow]

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE = 40_000
"""Milliseconds that a busy machine may take for anything."""


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's chromium once for all tests, or skip them and say why."""
    api = pytest.importorskip("playwright.sync_api", reason="SKIPPED: playwright is not installed")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("SKIPPED: no chromium on this machine (Debian: apt-get install chromium)")
    with api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield started
        started.close()


class Screen:
    """A page, and what one does with it."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page = page
        self.served = served
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self._hear(said.type, said.text))

    def _hear(self, kind: str, words: str) -> None:
        # The browser's own editing copies styles to what is typed over a selection; the policy forbids it.
        if kind == "error" and not words.startswith("Applying inline style violates"):
            self.wrong.append(words)

    def open(self, fragment: str = packed(COUGH)) -> Screen:
        self.page.goto(self.served.address + fragment)
        self.page.wait_for_selector("body[data-ready]")
        return self

    def write(self, text: str) -> None:
        """Replace the model, as somebody who pastes."""
        self.page.locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def text(self) -> str:
        return "\n".join(self.page.locator(".cm-line").all_inner_texts()).replace("\n\n", "\n")

    def card(self, question: str, more: str = "") -> Locator:
        return self.page.locator(f".card[data-question={json.dumps(question)}]{more}")

    def answered(self, question: str, status: str = "exact") -> tuple[str, str]:
        """Wait for an answer, and return what it says."""
        card = self.card(question, f"[data-status={status}]:not(.working)")
        return card.locator(".low").inner_text(), card.locator(".high").inner_text()

    def said(self, selector: str, words: str) -> None:
        """Wait until a part of the page says something."""
        self.page.locator(selector).filter(has_text=words).first.wait_for()


@pytest.fixture
def screen(browser: Browser, served: Served) -> Iterator[Screen]:
    context = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light")
    found = Screen(context.new_page(), served)
    yield found
    context.close()
    assert found.wrong == []


# ---- the first screen ---------------------------------------------------------------------------------


def test_the_first_screen_has_a_model_with_an_answer(screen: Screen) -> None:
    # By hand: 0.9 * 0.52 and 0.58 + 0.05 * 0.42; 37/123 and 50/87.
    screen.open("")
    assert screen.answered("P(wet)") == ("0.468", "0.601")
    assert screen.answered("P(rain | wet)") == ("0.300813", "0.574713")
    screen.said("#state", "4 sentences about 3 variables")


def test_marginals_stand_on_the_nodes(screen: Screen) -> None:
    screen.open()
    screen.said(".node[data-name=cough] .interval", "0.189 – 0.365")
    label = screen.page.locator(".node[data-name=cold]").get_attribute("aria-label")
    assert label == "cold: between 0.2 and 0.3"


# ---- typing -------------------------------------------------------------------------------------------


def test_what_is_typed_is_answered(screen: Screen) -> None:
    screen.open().write("0.2 <= P(a) <= 0.3\nP(b | a) = 0.5\nP(b | !a) = 0.5\nquery P(b)")
    assert screen.answered("P(b)") == ("0.5", "0.5")
    screen.said("#state", "3 sentences about 2 variables")


def test_a_mistake_is_underlined_at_its_word(screen: Screen) -> None:
    screen.open().write("P(a) >= 0.3\nquary P(a)")
    underlined = screen.page.locator(".cm-lintRange-error")
    underlined.wait_for()
    assert underlined.inner_text() == "quary"
    screen.said("#mistakes", "Did you mean query?")
    screen.said("#state", "1 mistake")


def test_a_mistake_is_shown_soon_after_typing(screen: Screen) -> None:
    screen.open()
    screen.answered("P(fever)")
    # The clock of the page: from the change of the text to the underline, several times.
    screen.page.evaluate(
        """() => {
          window.waits = [];
          new MutationObserver(() => {
            if (window.began && document.querySelector('.cm-lintRange-error')) {
              window.waits.push(performance.now() - window.began);
              window.began = 0;
            }
          }).observe(document.querySelector('#editor'), { subtree: true, childList: true, attributes: true });
        }"""
    )
    for _ in range(5):
        screen.write("P(a) >= 0.3\n")
        screen.said("#state", "1 sentence")
        screen.page.evaluate("window.began = performance.now()")
        screen.page.keyboard.insert_text("P(a) = = 1")
        screen.page.locator(".cm-lintRange-error").first.wait_for()
    waits = screen.page.evaluate("window.waits")
    assert len(waits) == 5


def test_names_are_completed(screen: Screen) -> None:
    screen.open().write("P(umbrella) >= 0.3\nP(rain | umb")
    screen.page.locator(".cm-tooltip-autocomplete").wait_for(state="detached")
    screen.write("P(umbrella) >= 0.3\n")
    screen.said("#state", "1 sentence")
    screen.page.keyboard.type("P(rain | umb", delay=15)
    screen.said(".cm-tooltip-autocomplete", "umbrella")
    screen.page.wait_for_timeout(120)
    screen.page.keyboard.press("Enter")
    assert "P(rain | umbrella" in screen.text()


def test_a_long_model_is_drawn_in_part_and_answered(screen: Screen) -> None:
    text = "0.4 <= P(x0) <= 0.5\n" + "\n".join(
        f"P(x{i + 1} | x{i}) = 0.5\nP(x{i + 1} | !x{i}) = 0.5" for i in range(300)
    )
    screen.open().write(f"{text}\nquery P(x300)")
    screen.said("#state", "601 sentences about 301 variables")
    screen.said("#graph-note", "of 301 variables")
    assert screen.answered("P(x300)") == ("0.5", "0.5")


def test_hostile_input_is_shown_as_text(screen: Screen) -> None:
    name = "<img src=x onerror=alert(1)>"
    screen.page.on("dialog", lambda dialog: screen.wrong.append(dialog.message))
    screen.open().write(f'0.2 <= P("{name}") <= 0.3\nquery P("{name}")')
    assert screen.answered(f'P("{name}")') == ("0.2", "0.3")
    screen.said(".node .name", "<img")
    screen.page.locator(".node").first.click()
    screen.said("#details h3", name)
    assert screen.page.locator("img").count() == 0
    assert screen.page.locator("#question").get_attribute("placeholder") == f'P("{name}")'
    name_width, box_width = (
        screen.page.locator(part).first.bounding_box()["width"]  # type: ignore[index]
        for part in (".node .name", ".node .box")
    )
    assert name_width < box_width


def test_a_text_of_mistakes_alone_says_when_its_graph_is_drawn(screen: Screen) -> None:
    screen.open().write("")
    screen.said("#picture", "Nothing depends on anything yet")
    screen.write("0.3::a.")
    screen.said("#picture", "as soon as the mistakes are mended")


def test_a_file_on_the_disk_is_refused(screen: Screen) -> None:
    screen.open().write('include "/etc/passwd"\nP(a) >= 0.3')
    screen.said("#mistakes", "there is no file /etc/passwd here")
    assert "root:" not in screen.page.content()


def test_a_file_that_is_given_is_included(screen: Screen, tmp_path: Path) -> None:
    screen.open()
    (given := tmp_path / "more.lcn").write_text("0.1 <= P(a) <= 0.2\n")
    screen.page.locator("#files").set_input_files(given)
    screen.write('include "more.lcn"\nquery P(a)')
    assert screen.answered("P(a)") == ("0.1", "0.2")
    screen.page.get_by_role("tab", name="more.lcn").click()
    assert screen.text() == "0.1 <= P(a) <= 0.2\n"


# ---- questions ----------------------------------------------------------------------------------------


def test_a_question_is_asked_and_removed(screen: Screen) -> None:
    screen.open()
    screen.page.locator("#question").fill("P(cough or fever)")
    screen.page.get_by_role("button", name="Ask").click()
    low, high = screen.answered("P(cough or fever)")
    assert 0.189 <= float(low) < float(high) <= 0.545
    screen.page.get_by_role("button", name="Remove P(cough or fever)").click()
    screen.card("P(cough or fever)").wait_for(state="detached")


def test_a_formula_alone_is_a_question(screen: Screen) -> None:
    screen.open()
    screen.page.locator("#question").fill("not flu")
    screen.page.locator("#question").press("Enter")
    assert screen.answered("P(not flu)") == ("0.9", "0.95")
    screen.page.locator("#question").fill("flu -> flu")
    screen.page.locator("#question").press("Enter")
    assert screen.answered("P(flu -> flu)") == ("1", "1")


def test_a_mistake_in_a_question_is_told(screen: Screen) -> None:
    screen.open()
    screen.page.locator("#question").fill("P(flue)")
    screen.page.locator("#question").press("Enter")
    screen.said(".card.failed", "Did you mean flu?")


def test_a_long_question_is_stopped_with_what_is_known(screen: Screen) -> None:
    screen.open().write(hard())
    question = "P(x1 | x11 and !x10)"
    stop = screen.card(question).get_by_role("button", name="Stop")
    stop.wait_for()
    screen.said(".card .status", "closing in")
    stop.click()
    low, high = screen.answered(question, "stopped")
    assert 0.0 <= float(low) < float(high) <= 1.0
    assert stop.is_hidden()
    screen.card(question).get_by_role("button", name="Look for 120 s").click()
    screen.card(question, ".working").wait_for()
    stop.click()
    # What was proved before still holds, however soon the second look was stopped.
    lower, upper = map(float, screen.answered(question, "stopped"))
    assert float(low) <= lower < upper <= float(high)


def test_what_is_observed_changes_the_answers(screen: Screen) -> None:
    screen.open()
    screen.page.locator(".node[data-name=fever]").click()
    screen.page.locator("#details").get_by_role("button", name="true").click()
    screen.said("#observed", "fever")
    screen.page.locator(".node.observed[data-name=fever]").wait_for()
    screen.said(".node[data-name=flu] .interval", "0.296 – 0.667")
    screen.page.get_by_role("button", name="Forget fever").click()
    screen.said(".node[data-name=flu] .interval", "0.05 – 0.1")


def test_an_answer_is_explained_by_its_sentences(screen: Screen) -> None:
    screen.open()
    screen.answered("P(fever)")
    screen.page.get_by_role("button", name="P(fever)", exact=True).click()
    card = screen.card("P(fever)")
    card.get_by_text("The upper end, 0.18, is held by").wait_for()
    card.get_by_role("button", name="0.8 <= P(fever | flu) <= 0.9").first.click()
    active = screen.page.locator(".cm-activeLine").inner_text()
    assert active == "0.8 <= P(fever | flu) <= 0.9"


def test_models_are_shown_and_a_certificate_is_downloaded(screen: Screen, tmp_path: Path) -> None:
    screen.open()
    screen.answered("P(flu | fever)")
    screen.page.get_by_role("button", name="P(flu | fever)", exact=True).click()
    card = screen.card("P(flu | fever)")
    card.get_by_role("button", name="Models that attain them").click()
    card.get_by_text("The model with the greatest value, 0.6667").wait_for()
    card.get_by_role("button", name="A proof").click()
    card.get_by_text("Checked again in exact fractions").wait_for()
    with screen.page.expect_download() as coming:
        card.get_by_role("button", name="Download the certificate").click()
    coming.value.save_as(proof := tmp_path / "answer.cert")
    assert any("P(flu | fever)" in claim for claim in credalog.parse(COUGH).verify(proof))


def test_a_contradiction_is_marked_and_repaired(screen: Screen) -> None:
    screen.open().write(CONTRADICTION)
    screen.page.locator(".cm-conflict").first.wait_for()
    screen.said("#conflict", "These 2 bounds contradict each other")
    assert screen.page.locator(".cm-conflict").count() == 2
    screen.page.locator("#conflict").get_by_role("button", name="Apply").first.click()
    low, high = screen.answered("P(a)")
    assert low == high or float(low) <= float(high)
    assert "# was:" in screen.text()
    assert screen.page.locator(".cm-conflict").count() == 0


# ---- the graph ----------------------------------------------------------------------------------------


def test_a_node_tells_its_parents_independences_and_sentences(screen: Screen) -> None:
    screen.open()
    screen.page.locator(".node[data-name=cough]").click()
    details = screen.page.locator("#details")
    details.get_by_role("heading", name="cough").wait_for()
    assert details.locator(".names").first.inner_text().split() == ["flu", "cold"]
    screen.said("#details", "Independent, given flu, cold, of")
    assert details.locator(".sentences li").count() == 4
    details.get_by_role("button", name="Close").click()
    details.wait_for(state="hidden")


def test_formulas_are_drawn_on_demand(screen: Screen) -> None:
    screen.open()
    screen.page.get_by_label("formulas").check()
    screen.page.locator(".node.formula").first.wait_for()
    assert screen.page.locator(".node.formula").count() == 5


# ---- the gallery, the address -------------------------------------------------------------------------


def test_an_example_is_opened_from_the_gallery_and_back_returns(screen: Screen) -> None:
    screen.open()
    screen.answered("P(fever)")
    screen.page.get_by_role("button", name="Examples").click()
    screen.page.get_by_role("button", name="What independence is worth").click()
    assert screen.answered("P(x xor y)") == ("0.42", "0.58")
    screen.page.go_back()
    assert screen.answered("P(fever)") == ("0.0875", "0.18")


def test_a_shared_address_opens_the_same_model(screen: Screen, browser: Browser) -> None:
    screen.open().write("0.2 <= P(shared) <= 0.3\nquery P(shared)")
    screen.answered("P(shared)")
    screen.page.get_by_role("button", name="Share", exact=True).click()
    screen.page.locator("#share[open]").wait_for()
    address = screen.page.locator("#share-link").input_value()
    context = browser.new_context()
    other = Screen(context.new_page(), screen.served)
    other.page.goto(address)
    assert other.answered("P(shared)") == ("0.2", "0.3")
    context.close()


def test_a_broken_address_opens_the_first_example(screen: Screen) -> None:
    screen.open("#m=broken")
    assert screen.answered("P(wet)") == ("0.468", "0.601")


def test_two_tabs_have_models_of_their_own(screen: Screen, browser: Browser) -> None:
    screen.open().write("0.2 <= P(a) <= 0.3\nquery P(a)")
    other = Screen(screen.page.context.new_page(), screen.served)
    other.open().write("0.6 <= P(a) <= 0.7\nquery P(a)")
    assert other.answered("P(a)") == ("0.6", "0.7")
    assert screen.answered("P(a)") == ("0.2", "0.3")
    screen.page.reload()
    assert screen.answered("P(a)") == ("0.2", "0.3")


def test_a_server_that_has_gone_is_noticed_and_the_model_kept(browser: Browser) -> None:
    context = browser.new_context()
    with playground() as served:
        screen = Screen(context.new_page(), served).open()
        screen.answered("P(fever)")
    screen.write("P(kept) >= 0.3")
    screen.said("#gone", "has ended")
    assert "P(kept) >= 0.3" in screen.text()
    context.close()


def test_a_wrong_token_shows_no_page(browser: Browser, served: Served) -> None:
    context = browser.new_context()
    page = context.new_page()
    response = page.goto(re.sub(r"/[\w-]+/$", "/wrong/", served.address))
    assert response is not None
    assert response.status == 404
    assert page.locator(".cm-editor").count() == 0
    context.close()


# ---- eyes, hands and ears -----------------------------------------------------------------------------


def _luminance(screen: Screen) -> float:
    color = screen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = map(int, re.findall(r"\d+", color)[:3])
    return (0.2 * red + 0.7 * green + 0.1 * blue) / 255


def test_dark_and_light_follow_the_system_and_the_button(screen: Screen) -> None:
    screen.open()
    assert _luminance(screen) > 0.9
    screen.page.emulate_media(color_scheme="dark")
    assert _luminance(screen) < 0.2
    screen.page.get_by_role("button", name="Use dark colours").or_(
        screen.page.get_by_role("button", name="Use light colours")
    ).click()
    screen.page.reload()
    screen.page.wait_for_selector("body[data-ready]")
    assert screen.page.evaluate("document.documentElement.dataset.theme") in {"dark", "light"}


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(screen: Screen, width: int) -> None:
    screen.page.set_viewport_size({"width": width, "height": 800})
    screen.open()
    screen.answered("P(flu | fever)")
    assert screen.page.evaluate("document.documentElement.scrollWidth") <= width
    screen.page.locator("#question").scroll_into_view_if_needed()
    assert screen.page.locator("#question").is_visible()


def test_everything_can_be_done_with_the_keyboard(screen: Screen) -> None:
    screen.open()
    screen.answered("P(fever)")
    press = screen.page.keyboard.press
    screen.page.locator(".skip").focus()
    press("Enter")
    screen.page.keyboard.type("P(cold)")
    press("Enter")
    assert screen.answered("P(cold)") == ("0.2", "0.3")
    node = screen.page.locator(".node[data-name=flu]")
    node.focus()
    press("Enter")
    screen.page.locator("#details h3").wait_for()
    assert screen.page.evaluate("document.activeElement.textContent") == "flu"
    screen.page.get_by_role("button", name="Examples").focus()
    press("Enter")
    assert screen.page.locator("#gallery").is_visible()
    press("Escape")
    assert screen.page.locator("#gallery").is_hidden()
    assert screen.page.evaluate("document.activeElement.textContent") == "Examples"


def test_tab_leaves_the_editor(screen: Screen) -> None:
    screen.open()
    screen.page.locator(".cm-content").focus()
    screen.page.keyboard.press("Tab")
    assert not screen.page.evaluate("document.querySelector('.cm-content').contains(document.activeElement)")


def test_answers_are_spoken(screen: Screen) -> None:
    screen.open()
    screen.said("#spoken", "lies between")
    unnamed = screen.page.evaluate(
        """() => [...document.querySelectorAll('button, input, textarea, [role=button], [tabindex="0"]')]
            .filter((each) => !each.ariaLabel && !each.textContent.trim() && !each.labels?.length)
            .map((each) => each.outerHTML)"""
    )
    assert unnamed == []
