// The page's only script. It reads the JSON block, shows the laws, and filters them. Whatever comes from a run is
// written with textContent; drawings are cloned from templates that packproof drew.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const drawings = document.querySelectorAll("#drawings > template");
const rows = document.getElementById("rows");
const form = document.getElementById("search");
const query = document.getElementById("query");
const area = document.getElementById("area");
const found = document.getElementById("found");
const chips = [...document.querySelectorAll("[data-verdict]")];

const SIGNS = {
  "passed": "✓", "failed": "✗", "failed as expected": "≈", "stale": "!", "not supported": "–",
  "harness error": "‼", "environment error": "☠",
};

// Elements -----------------------------------------------------------------------------------------------------------

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function link([label, address]) {
  return element("a", { href: address, rel: "noreferrer" }, label);
}

function spaced(items) {
  return items.flatMap((item, number) => (number ? [", ", item] : [item]));
}

function verdictText(verdict) {
  if (verdict === null) return element("span", { class: "t-none" }, "no verdict");
  const sign = element("span", { "aria-hidden": "true" }, SIGNS[verdict] + " ");
  return element("span", { class: "t-" + verdict.replaceAll(" ", "-") }, sign, verdict);
}

// A column; where it was merged of several runs, with the one that is meant.
function named(number, run) {
  const column = data.columns[number];
  return column.runs.length > 1 ? `${column.handle} (${column.runs[run].name})` : column.handle;
}

// The part of a law ---------------------------------------------------------------------------------------------------

// Text with ``code`` in it, as docstrings have it.
function coded(text) {
  return text.split("``").map((part, number) => (number % 2 ? element("code", {}, part) : part));
}

function source(text) {
  const bug = data.bugs[text];
  if (!bug) return element("code", {}, text);
  const links = bug.links.length ? [" ", ...spaced(bug.links.map(link))] : [];
  return element("span", {}, element("code", {}, text), ` (${bug.suffered})`, ...links);
}

function about(law) {
  const facts = element("dl", { class: "about" });
  const add = (name, ...values) => values.length && facts.append(element("dt", {}, name), element("dd", {}, ...values));
  add("claim", ...coded(law.text || law.claim));
  if (law.harm) add("harm", law.harm);
  if (law.needs.length) add("needs", ...spaced(law.needs.map((name) => element("code", {}, name))));
  if (law.sources.length) add("sources", ...spaced(law.sources.map(source)));
  const measured = law.measured.flatMap((found, number) =>
    (found ? [`${named(number, found[2])}: ${found[0]} examples in ${found[1]} s`] : []));
  add("measured", measured.join(", "));
  if (law.links.length) add("links", ...spaced(law.links.map(link)));
  return facts;
}

function command(line) {
  const button = element("button", { type: "button" }, "Copy");
  const text = element("pre", {}, line);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(line);
      button.textContent = "Copied";
    } catch { // a browser may keep pages from files away from the clipboard
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
  });
  return element("div", { class: "command" }, text, button);
}

function values(finding) {
  const facts = element("dl");
  for (const name of ["expected", "got", "inputs"]) {
    if (finding[name]) facts.append(element("dt", {}, name), element("dd", {}, element("code", {}, finding[name])));
  }
  return facts.childElementCount ? facts : null;
}

function drawing(number) {
  const copy = drawings[number].content.cloneNode(true);
  const name = copy.firstElementChild.getAttribute("aria-label").split(".")[0];
  const caption = element("figcaption", { class: "note" }, name);
  const frame = { class: "drawing", tabindex: "0", role: "group", "aria-label": `Drawing of ${name}` };
  return element("figure", {}, caption, element("div", frame, copy));
}

function findingPart(finding) {
  const runs = finding.columns.map((_, place) => (finding.runs || [])[place] || 0);
  const names = finding.columns.map((number, place) => named(number, runs[place])).join(", ");
  const part = element("section", { class: "finding" }, element("h3", {}, `${names}: `, verdictText(finding.verdict)));
  if (finding.message) part.append(element("pre", {}, finding.message));
  const facts = values(finding);
  if (facts) part.append(facts);
  for (const number of finding.drawings || []) part.append(drawing(number));
  for (const note of finding.notes || []) part.append(element("p", { class: "note" }, note));
  for (const [place, path] of (finding.cases || []).entries()) {
    const [before, after] = data.columns[finding.columns[place]].runs[runs[place]].replay;
    part.append(command(before + path + after));
  }
  if (finding.upstream) {
    const known = (finding.known || []).join(", ");
    const links = finding.links || [];
    part.append(element("p", {}, "upstream: ", ...(links.length ? spaced(links.map(link)) : [finding.upstream]),
      known ? ` (${known})` : null));
  } else if (finding.known) {
    part.append(element("p", {}, "known as: ", ...spaced(finding.known.map(source))));
  }
  return part;
}

// Rows ----------------------------------------------------------------------------------------------------------------

function build(law, number) {
  const button = element("button", { type: "button", "aria-expanded": "false", id: `law-${number}` }, law.key);
  const cells = law.verdicts.map((verdict) => element("td", { class: "verdict" }, verdictText(verdict)));
  const row = element("tr", { class: "law" },
    element("th", { scope: "row" }, button), element("td", {}, law.claim), ...cells);
  law.row = row;
  law.button = button;
  button.addEventListener("click", () => toggle(law));
  return row;
}

function toggle(law, open = !law.part) {
  if (open === Boolean(law.part)) return;
  law.button.setAttribute("aria-expanded", String(open));
  law.row.classList.toggle("open", open);
  if (open) {
    const width = String(2 + law.verdicts.length);
    const content = element("div", {}, about(law), ...law.findings.map(findingPart));
    law.part = element("tr", { class: "part" }, element("td", { colspan: width }, content));
    law.row.after(law.part);
  } else {
    law.part.remove();
    law.part = null;
  }
  remember();
}

// Queries -------------------------------------------------------------------------------------------------------------

const everything = (law) => [law.key, law.claim, law.text, law.harm, ...law.sources,
  ...law.findings.flatMap((f) => [f.message, f.expected, f.got, f.upstream, ...(f.known || [])])]
  .join("\n").toLowerCase();

const handles = () => data.columns.map((column) => column.handle).join(", ");

function columnsCalled(name) {
  return data.columns.flatMap((column, number) => (column.names.includes(name) ? [number] : []));
}

function columnsNamed(name) {
  const matches = columnsCalled(name);
  if (!matches.length) throw new Error(`there is no column "${name}"; there are ${handles()}`);
  return matches;
}

// A range is FIRST..LAST; names may hold dots themselves, so it is cut where both sides are columns.
function pairs(range) {
  if (!range) return data.neighbours;
  for (let cut = range.indexOf(".."); cut >= 0; cut = range.indexOf("..", cut + 1)) {
    const [before, after] = [range.slice(0, cut), range.slice(cut + 2)].map(columnsCalled);
    if (before.length && after.length && before[0] < after.at(-1)) return [`${before[0]}-${after.at(-1)}`];
  }
  throw new Error(`"${range}" is no range: write FIRST..LAST, of ${handles()}`);
}

function changeTest(kind, range) {
  const wanted = pairs(range);
  const matches = (change) => (kind === "changed" ? change !== undefined : change === kind);
  return (law) => wanted.some((pair) => matches(law.changes[pair]));
}

function verdictTest(verdict, name) {
  const wanted = name ? columnsNamed(name) : data.columns.map((_, number) => number);
  return (law) => wanted.some((number) => law.verdicts[number] === verdict);
}

function onlyTest(name) {
  const own = new Set(columnsNamed(name));
  return (law) => law.broken.length > 0 && law.broken.every((number) => own.has(number));
}

function termTest(word, value) {
  const name = word.toLowerCase().replaceAll("-", " ");
  if (name === "only") return onlyTest(value || "");
  if (data.verdicts.includes(name)) return verdictTest(name, value);
  if (name === "changed" || data.changes.includes(name)) return changeTest(name, value);
  const text = (value ? `${word}:${value}` : word).toLowerCase();
  return (law) => law.searched.includes(text);
}

// A word, a verdict of several words, or name:value; value or word may stand in quotes.
const TERM = /(-?)(?:"([^"]*)"|(failed as expected|not supported|harness error|environment error)(?![\w:])|([a-z][a-z -]*?):(?:"([^"]*)"|(\S+))|(\S+))/gi;

function parse(text) {
  return [...text.matchAll(TERM)].map(([, minus, quoted, phrase, name, quotedValue, value, word]) => {
    const test = termTest(name || quoted || phrase || word || "", name ? quotedValue || value : undefined);
    return minus ? (law) => !test(law) : test;
  });
}

function apply() {
  let tests;
  try {
    tests = parse(query.value);
    query.removeAttribute("aria-invalid");
  } catch (error) {
    query.setAttribute("aria-invalid", "true");
    found.textContent = error.message;
    return;
  }
  const verdicts = chips.filter((chip) => chip.getAttribute("aria-pressed") === "true").map((c) => c.dataset.verdict);
  if (verdicts.length) tests.push((law) => law.verdicts.some((verdict) => verdicts.includes(verdict)));
  if (area.value) tests.push((law) => law.area === area.value);
  let count = 0;
  for (const law of data.laws) {
    const shown = tests.every((test) => test(law));
    law.row.hidden = !shown;
    if (law.part) law.part.hidden = !shown;
    count += shown;
  }
  found.textContent = `${count} of ${data.laws.length} laws`;
  remember();
}

// State in the address, so that a view can be sent to somebody ----------------------------------------------------------

function remember() {
  const state = new URLSearchParams();
  if (query.value) state.set("q", query.value);
  if (area.value) state.set("area", area.value);
  for (const chip of chips) if (chip.getAttribute("aria-pressed") === "true") state.append("verdict", chip.dataset.verdict);
  for (const law of data.laws) if (law.part) state.append("law", law.key);
  history.replaceState(null, "", `#${state}`);
}

function recall() {
  const state = new URLSearchParams(location.hash.slice(1));
  query.value = state.get("q") ?? (location.hash.length > 1 ? "" : data.query);
  area.value = state.get("area") || "";
  const verdicts = state.getAll("verdict");
  for (const chip of chips) chip.setAttribute("aria-pressed", String(verdicts.includes(chip.dataset.verdict)));
  const open = state.getAll("law");
  for (const law of data.laws) if (open.includes(law.key)) toggle(law, true);
  apply();
}

// Keys ----------------------------------------------------------------------------------------------------------------

function step(direction) {
  const shown = data.laws.filter((law) => !law.row.hidden);
  const here = shown.findIndex((law) => law.button === document.activeElement);
  const next = here < 0 ? (direction > 0 ? 0 : shown.length - 1) : here + direction;
  if (shown[next]) shown[next].button.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches("input, select");
  const onLaw = event.target.matches("tr.law button");
  if (event.key === "Escape") query.focus();
  else if (event.key === "/" && !typing) query.focus();
  else if ((event.key === "ArrowDown" && (onLaw || event.target === query)) || (event.key === "j" && !typing)) step(1);
  else if ((event.key === "ArrowUp" && onLaw) || (event.key === "k" && !typing)) step(-1);
  else return;
  event.preventDefault();
});

// Start ---------------------------------------------------------------------------------------------------------------

for (const law of data.laws) law.searched = everything(law);
rows.append(...data.laws.map(build));
query.addEventListener("input", apply);
area.addEventListener("change", apply);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(() => {
  for (const chip of chips) chip.setAttribute("aria-pressed", "false");
  apply();
}));
for (const chip of chips) {
  chip.addEventListener("click", () => {
    chip.setAttribute("aria-pressed", String(chip.getAttribute("aria-pressed") !== "true"));
    apply();
  });
}
for (const button of document.querySelectorAll("[data-query]")) {
  button.addEventListener("click", () => {
    form.reset();
    query.value = button.dataset.query;
    query.focus();
    setTimeout(() => { query.value = button.dataset.query; apply(); });
  });
}
recall();
