import { useState } from 'react';
import { api, call } from '#/api/client';
import { useIsAdmin, useProject } from '#/features/project/open';
import { Button } from '#/ui/button';
import { CodeBlock, Copyable } from '#/ui/copy';
import { Select, TextField } from '#/ui/form';
import { failed } from '#/ui/toast';
import { asConfig, textAt } from '../model/graph';
import type { Edit } from './edit';
import { JsonField } from './JsonField';
import { Pairs } from './Pairs';
import { t } from './texts';

const METHODS = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'];

/** Prints what it is sent. */
const RECEIVER = `python3 -c 'from http.server import *
class Hook(BaseHTTPRequestHandler): do_POST = lambda self: (print(self.headers, self.rfile.read(int(self.headers["content-length"]))), self.send_response(204), self.end_headers())
HTTPServer(("", 9000), Hook).serve_forever()'`;

/** Calls a web address. */
export function WebhookFields({ config, set, fault, onInvalid }: Edit & { onInvalid: (invalid: boolean) => void }) {
  const headers = Object.entries(asConfig(config.headers)).map(([name, value]) => [name, String(value)] as const);
  const method = textAt(config, 'method') || 'POST';
  return (
    <>
      <TextField
        label={t.url}
        hint={t.urlHint}
        name="config.url"
        autoFocus
        spellCheck={false}
        placeholder="https://crm.example.com/contacts/{{email}}"
        value={textAt(config, 'url')}
        error={fault('url')}
        onChange={(event) => set({ url: event.target.value })}
      />
      <Select label={t.method} name="config.method" value={method} onChange={(event) => set({ method: event.target.value })}>
        {METHODS.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </Select>
      <Pairs
        legend={t.headers}
        labels={{ name: t.header, value: t.headerValue, add: t.addHeader, remove: t.removeHeader }}
        placeholder={['X-Team', '{{data.team}}']}
        value={Object.fromEntries(headers)}
        faults={(name) => fault(`headers.${name}`)}
        onChange={(to) => set({ headers: Object.keys(to).length > 0 ? to : undefined })}
      />
      {method !== 'GET' && (
        <JsonField
          label={t.body}
          hint={t.bodyHint}
          name="config.body"
          value={config.body}
          error={fault('body')}
          onChange={(body, invalid) => {
            onInvalid(invalid);
            if (!invalid) set({ body });
          }}
        />
      )}
      <Hints />
    </>
  );
}

function Hints() {
  const project = useProject();
  const isAdmin = useIsAdmin();
  const [secret, setSecret] = useState<string>();
  const show = () => {
    call(api.GET('/projects/{id}/webhook-secret', { params: { path: { id: project.id } } })).then(
      (found) => setSecret(found.secret),
      failed,
    );
  };
  return (
    <details className="rounded-control border border-line p-2">
      <summary className="font-medium">{t.signing}</summary>
      <div className="mt-2 space-y-3 text-muted">
        <p>{t.signingText}</p>
        {secret ? (
          <Copyable text={secret} what={t.secret} />
        ) : isAdmin ? (
          <Button size="small" onClick={show}>
            {t.showSecret}
          </Button>
        ) : (
          <p>{t.secretAdmins}</p>
        )}
        <p>{t.testText}</p>
        <CodeBlock code={RECEIVER} what={t.receiver} />
      </div>
    </details>
  );
}
