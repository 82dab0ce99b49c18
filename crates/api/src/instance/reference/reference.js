"use strict";

// The page can be read without this. It adds the search, one language for all examples, copying, and requests to try.

const element = (id) => document.getElementById(id);
const operations = [...document.querySelectorAll(".operation")];

function made(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/* Search */

const words = new Map();

function textOf(section) {
  if (!words.has(section)) {
    const names = [...section.querySelectorAll("h3, .route code, th code, .told > p")].map((node) => node.textContent);
    words.set(section, `${section.dataset.method} ${names.join(" ")} ${section.id}`.toLowerCase());
  }
  return words.get(section);
}

function search() {
  const wanted = element("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const links = new Map([...document.querySelectorAll("[data-operation]")].map((link) => [link.dataset.operation, link]));
  let count = 0;
  for (const section of operations) {
    const shown = wanted.every((word) => textOf(section).includes(word));
    section.hidden = !shown;
    links.get(section.id).parentElement.hidden = !shown;
    count += shown ? 1 : 0;
  }
  const searching = wanted.length > 0;
  for (const guide of document.querySelectorAll(".guide")) guide.hidden = searching;
  for (const overview of document.querySelectorAll(".overview")) overview.hidden = searching;
  for (const group of document.querySelectorAll("main .group")) {
    group.hidden = !group.querySelector(".operation:not([hidden])");
  }
  for (const group of document.querySelectorAll(".contents .group")) {
    group.hidden = !group.querySelector("li:not([hidden]) [data-operation]");
    group.open = searching;
  }
  element("nothing").hidden = count > 0;
  element("found").textContent = searching ? `${count} of ${operations.length}` : "";
}

/* Contents */

const narrow = matchMedia("(max-width: 899px)");

function fold() {
  element("contents").open = !narrow.matches;
}

// A link to what the search hides shows it again.
function follow() {
  const target = element(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("[hidden]")) {
    element("search").value = "";
    search();
  }
  target.scrollIntoView();
  const link = document.querySelector(`.contents a[href="#${CSS.escape(target.id)}"]`);
  for (const other of document.querySelectorAll(".contents [aria-current]")) other.removeAttribute("aria-current");
  link?.setAttribute("aria-current", "true");
  const group = link?.closest(".group");
  if (group) group.open = true;
}

/* Examples */

function choose(language) {
  for (const input of document.querySelectorAll(`.examples > input[value="${language}"]`)) input.checked = true;
}

function shownExample(fieldset) {
  const language = fieldset.querySelector("input:checked").value;
  return fieldset.querySelector(`pre[data-language="${language}"]`).textContent;
}

function addBar(section) {
  const fieldset = section.querySelector(".examples");
  const copy = made("button", { type: "button", textContent: "Copy" });
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(shownExample(fieldset));
    copy.textContent = "Copied";
    setTimeout(() => (copy.textContent = "Copy"), 1500);
  });
  const open = made("button", { type: "button", textContent: "Try it" });
  open.setAttribute("aria-expanded", "false");
  let panel = null;
  open.addEventListener("click", () => {
    panel ??= addPanel(section, bar);
    panel.hidden = open.getAttribute("aria-expanded") === "true";
    open.setAttribute("aria-expanded", String(!panel.hidden));
  });
  const bar = made("div", { className: "bar" }, copy, open);
  fieldset.after(bar);
}

/* Trying requests */

const EFFECTS = {
  reads: "This request only reads.",
  changes: "This request changes something.",
  sends: "This request sends mail for real, where a mail server is configured.",
  destroys: "This request deletes or ends something, which cannot be undone.",
};
const LONGEST_ANSWER = 200000;

// Where this instance is, also where a proxy publishes it under a path: next to this page.
const base = new URL(".", location.href).href.replace(/\/$/, "");

function field(parameter) {
  const { parameter: name, place, example } = parameter.dataset;
  const required = "required" in parameter.dataset;
  const input = made("input", { type: "text", autocomplete: "off", spellcheck: false, required });
  input.placeholder = place === "path" ? example : "";
  const label = made("label", {}, `${name} (${place}${required ? ", required" : ""})`, input);
  return { name, place, input, label };
}

function bodyField(kind, text) {
  if (kind === "") return null;
  if (kind === "file") {
    const input = made("input", { type: "file" });
    return { input, label: made("label", {}, "File", input) };
  }
  const input = made("textarea", { value: text, spellcheck: false, autocomplete: "off" });
  return { input, label: made("label", {}, kind === "json" ? "Body" : "Form, one name=value a line", input) };
}

// The request as it would be sent, or what keeps it from that.
function request(section, fields, body, kind, name) {
  const headers = {};
  let path = section.dataset.path;
  const query = new URLSearchParams();
  for (const { name, place, input } of fields) {
    const value = input.value.trim();
    if (value === "" && place === "path") throw new Error(`Enter ${name}.`);
    if (place === "path") {
      if (value === "." || value === "..") throw new Error(`${name} cannot be ${value}.`);
      path = path.replace(`{${name}}`, encodeURIComponent(value));
    } else if (value !== "" && place === "query") query.append(name, value);
    else if (value !== "") headers[name] = value;
  }
  const key = element("key").value.trim();
  const withKey = section.dataset.credential === "key" && key !== "";
  if (withKey) headers.Authorization = `Bearer ${key}`;
  let sent;
  if (body && kind === "json" && body.input.value.trim() !== "") {
    headers["Content-Type"] = "application/json";
    sent = body.input.value;
  } else if (body && kind === "form") {
    const lines = body.input.value.split("\n").filter((line) => line.includes("="));
    sent = new URLSearchParams(lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]));
  } else if (body && kind === "file") {
    sent = new FormData();
    if (body.input.files[0]) sent.append(name, body.input.files[0]);
  }
  const url = new URL(base + path);
  url.search = query.toString();
  if (url.origin !== location.origin) throw new Error("Requests go to this instance only.");
  // a key says who asks; without one the browser's session at this instance does
  const credentials = withKey ? "omit" : "same-origin";
  return { method: section.dataset.method, url, headers, body: sent, credentials };
}

function preview({ method, url, headers, body, credentials }) {
  const lines = Object.entries(headers).map(([name, value]) => {
    const shown = name === "Authorization" ? `Bearer ${value.slice(7, 10)}…${value.slice(-4)}` : value;
    return `${name}: ${shown}`;
  });
  if (credentials === "same-origin") lines.push("(with this browser's session, where there is one)");
  let text = body ?? "";
  if (body instanceof FormData) text = [...body].map(([name, file]) => `${name}: ${file.name}, ${file.size} bytes`).join("\n");
  return [`${method} ${url.href}`, ...lines, "", String(text)].join("\n").trimEnd();
}

function readable(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

async function send(prepared, output) {
  output.replaceChildren(made("p", { textContent: "Waiting for the answer…" }));
  const began = performance.now();
  try {
    const { url, ...options } = prepared;
    // an answer that leads elsewhere is shown, not followed
    const response = await fetch(url, { ...options, redirect: "manual", referrerPolicy: "same-origin" });
    const text = await response.text();
    const took = Math.round(performance.now() - began);
    if (response.type === "opaqueredirect") {
      output.replaceChildren(made("p", { textContent: `The answer leads to another page (${took} ms).` }));
      return;
    }
    const cut = text.length > LONGEST_ANSWER;
    const status = made("span", { className: response.ok ? "status" : "status bad", textContent: `${response.status} ${response.statusText}` });
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
    const shown = made("pre", { tabIndex: 0 }, made("code", { textContent: readable(cut ? text.slice(0, LONGEST_ANSWER) : text) || "(no body)" }));
    output.replaceChildren(
      made("h4", { textContent: "Answer" }),
      made("p", {}, status, ` in ${took} ms`, cut ? `, the first ${LONGEST_ANSWER} characters` : ""),
      shown,
      made("details", {}, made("summary", { textContent: "Headers" }), made("pre", { tabIndex: 0 }, made("code", { textContent: headers }))),
    );
  } catch (error) {
    output.replaceChildren(made("p", { className: "notice destroys", textContent: `The request failed: ${error.message}` }));
  }
}

function addPanel(section, bar) {
  const { kind, body: text } = section.querySelector(".examples").dataset;
  const { effect, credential } = section.dataset;
  const fields = [...section.querySelectorAll("[data-parameter]")].map(field);
  const body = bodyField(kind, text);
  const shown = made("code");
  const sure = made("input", { type: "checkbox" });
  const button = made("button", { type: "submit", className: effect === "destroys" ? "danger" : "primary", textContent: "Send request" });
  const output = made("div");
  output.setAttribute("aria-live", "polite");
  const form = made("form", { className: "try", noValidate: true });
  form.setAttribute("aria-label", "Try this request");
  form.append(made("p", { className: `notice ${effect}`, textContent: EFFECTS[effect] }));
  if (credential === "key") form.append(made("p", { className: "muted", textContent: "The key is entered once, at the top of the page." }));
  form.append(...fields.map(({ label }) => label), ...(body ? [body.label] : []));
  form.append(made("h4", { textContent: "What is sent" }), made("pre", { tabIndex: 0 }, shown));
  if (effect !== "reads") form.append(made("label", { className: "sure" }, sure, "Yes, do this on this instance"));
  form.append(made("div", { className: "bar" }, button), output);
  let prepared = null;
  const update = () => {
    try {
      prepared = request(section, fields, body, kind, text);
      shown.textContent = preview(prepared);
    } catch (error) {
      prepared = null;
      shown.textContent = error.message;
    }
    button.disabled = prepared === null || (effect !== "reads" && !sure.checked);
  };
  form.addEventListener("input", update);
  element("key").addEventListener("input", update);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    update();
    if (button.disabled) return;
    button.disabled = true;
    await send(prepared, output);
    // what changes something is confirmed for each request
    sure.checked = false;
    update();
  });
  update();
  bar.after(form);
  return form;
}

/* Start */

element("tools").hidden = false;
operations.forEach(addBar);
fold();
narrow.addEventListener("change", fold);
element("search").addEventListener("input", () => {
  search();
  scrollTo(0, 0);
});
addEventListener("hashchange", follow);
if (location.hash) follow();
document.addEventListener("change", (event) => {
  if (event.target.matches(".examples > input")) choose(event.target.value);
});
document.querySelector(".contents").addEventListener("click", (event) => {
  if (narrow.matches && event.target.closest("a")) element("contents").open = false;
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input:not([type=radio], [type=checkbox]), textarea");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    element("search").focus();
  } else if (event.key === "Escape" && event.target.id === "search") {
    event.target.value = "";
    search();
  }
});
