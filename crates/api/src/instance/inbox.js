"use strict";

const element = (id) => document.getElementById(id);
let cursor = null;

async function call(method, path) {
  const response = await fetch(path.slice(1), { method, headers: { Authorization: `Bearer ${element("key").value.trim()}` } });
  if (response.status === 204) return null;
  const body = await response.json();
  if (!response.ok) throw new Error(body.error.message ?? body.error);
  return body;
}

function tell(text) {
  element("status").textContent = text;
}

async function attempt(work) {
  try {
    await work();
  } catch (error) {
    tell(error.message);
  }
}

function part(tag, text) {
  const node = document.createElement(tag);
  node.textContent = text;
  return node;
}

async function show(id) {
  const mail = await call("GET", `/mailbox/${id}`);
  // The mail's HTML gets no rights: no script, no origin, no forms.
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "");
  frame.title = "The mail as HTML";
  frame.srcdoc = mail.html ?? "";
  const files = mail.attachments.map((file) => `${file.filename} (${file.size} bytes)`).join(", ");
  element("message").replaceChildren(
    part("h2", mail.subject),
    part("p", `From ${mail.from} to ${mail.to}, ${mail.createdAt}`),
    part("p", files ? `Attachments: ${files}` : ""),
    frame,
    part("h3", "Text"),
    part("pre", mail.text ?? ""),
    part("h3", "Source"),
    part("pre", mail.raw),
  );
  element("message").focus();
}

async function list(more) {
  if (!more) {
    element("list").replaceChildren();
    element("more").hidden = true;
  }
  const page = await call("GET", `/mailbox?limit=50${more && cursor ? `&cursor=${cursor}` : ""}`);
  if (!more) {
    tell(page.total === 1 ? "1 mail" : `${page.total} mails`);
  }
  for (const mail of page.data) {
    const item = document.createElement("li");
    const open = document.createElement("button");
    open.type = "button";
    open.append(part("strong", mail.subject), part("small", `${mail.to} · ${mail.createdAt}`));
    open.addEventListener("click", () => attempt(() => show(mail.id)));
    item.append(open);
    element("list").append(item);
  }
  cursor = page.cursor;
  element("more").hidden = !page.hasMore;
}

element("open").addEventListener("submit", (event) => {
  event.preventDefault();
  attempt(() => list(false));
});
element("more").addEventListener("click", () => attempt(() => list(true)));
element("clear").addEventListener("click", () =>
  attempt(async () => {
    if (!confirm("Delete all captured mail of the project?")) return;
    await call("DELETE", "/mailbox");
    element("message").replaceChildren();
    await list(false);
  }),
);
