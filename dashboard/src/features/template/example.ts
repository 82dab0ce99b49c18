import { serviceUrl } from '#/api/base';

/** A request that sends a template, for those who read about it. */
export function sendExample(id: string): string {
  return `curl ${location.origin}${serviceUrl('/v1/send')} \\
  -H 'Authorization: Bearer sk_...' -H 'Content-Type: application/json' \\
  -d '{"to": "ada@example.com", "template": "${id}", "data": {"name": "Ada"}}'`;
}
