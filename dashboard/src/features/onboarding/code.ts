/** The languages that code to copy is in. */
export const LANGUAGES = [
  { id: 'curl', name: 'curl' },
  { id: 'javascript', name: 'JavaScript' },
  { id: 'python', name: 'Python' },
  { id: 'rust', name: 'Rust' },
] as const;

/** One of them. */
export type CodeLanguage = (typeof LANGUAGES)[number]['id'];

/** A request to the API with a JSON body. */
export interface Example {
  /** The address of the API, such as `https://mail.example.com`. */
  api: string;
  path: string;
  key: string;
  body: Readonly<Record<string, unknown>>;
}

/** A program that makes the request. */
export function codeFor(language: CodeLanguage, example: Example): string {
  return WRITERS[language](example);
}

const indented = (value: unknown, by: string) => JSON.stringify(value, null, 2).replaceAll('\n', `\n${by}`);
/** JSON within single quotation marks of a shell. */
const quoted = (value: unknown) => `'${JSON.stringify(value, null, 2).replaceAll("'", `'\\''`)}'`;

const WRITERS: Record<CodeLanguage, (example: Example) => string> = {
  curl: ({ api, path, key, body }) =>
    `curl ${api}${path} \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d ${quoted(body)}`,
  javascript: ({ api, path, key, body }) =>
    `const response = await fetch('${api}${path}', {
  method: 'POST',
  headers: { Authorization: 'Bearer ${key}', 'Content-Type': 'application/json' },
  body: JSON.stringify(${indented(body, '  ')}),
});
if (!response.ok) throw new Error(await response.text());
console.log(JSON.stringify(await response.json(), null, 2));`,
  python: ({ api, path, key, body }) =>
    `import json
import urllib.request

body = json.loads(r"""${JSON.stringify(body, null, 2)}""")
request = urllib.request.Request(
    "${api}${path}",
    data=json.dumps(body).encode(),
    headers={"Authorization": "Bearer ${key}", "Content-Type": "application/json"},
)
with urllib.request.urlopen(request) as response:
    print(json.load(response))`,
  rust: ({ api, path, key, body }) =>
    `// reqwest = { version = "0.12", features = ["blocking", "json"] }, serde_json = "1"
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let answer = reqwest::blocking::Client::new()
        .post("${api}${path}")
        .bearer_auth("${key}")
        .json(&serde_json::json!(${indented(body, '        ')}))
        .send()?
        .error_for_status()?;
    println!("{}", answer.text()?);
    Ok(())
}`,
};
