import { documentOf } from '../../src/editor/document.ts';
import { writeMjml } from '../../src/editor/mjml.ts';
import { deliver, report } from './deliver.ts';
import { open } from './insight.ts';
import type { Person, Service } from './service.ts';

/** Text that is wrong everywhere but as text: where a page takes it for HTML, it leaves `ran` in the window. */
export const EVIL = `<img src=x onerror=ran=1>"'{{x}}</script><script>ran=1</script>`;
/** The same as a script in a mail. */
const SCRIPT = 'top.ran=1';
/** A word that nothing breaks by itself. */
export const LONG = 'W'.repeat(100);
/** Text from right to left with marks that turn it round, a character without a shape, and pictures of several points. */
export const TURNED = '\u202Egnp.exe\u202C مرحبا \u0001\u200B 👩‍👩‍👧 \uFFFD';
/** A link that is a script. */
const LINK = `javascript:${SCRIPT}`;
/** A name for where characters that turn text round are refused. */
const PLAIN = 'مرحبا 👩\u{1F3FD}';

/** HTML that tries everything that a mail can try. */
const BODY = `<html><head><title>${EVIL}</title><style>*{position:fixed}</style></head><body onload="${SCRIPT}">
  <h1>${EVIL}</h1><script>${SCRIPT}</script><p onclick="${SCRIPT}">${LONG} ${TURNED}</p><a href="${LINK}">go</a>
  <iframe src="${LINK}"></iframe><form action="/auth/logout"><button>out</button></form>
  <svg onload="${SCRIPT}"></svg><meta http-equiv="refresh" content="0;url=/app/x"><base href="https://elsewhere.test/">
  <a href="https://acme.test/orders?q=%3Cscript%3E">orders</a></body></html>`;
const MJML = `<mjml><mj-head><mj-title>${EVIL.replaceAll('<', '&lt;')}</mj-title></mj-head><mj-body><mj-raw><script>${SCRIPT}</script><img src="x" onerror="${SCRIPT}"></mj-raw>
  <mj-section><mj-column><mj-text><b onclick="${SCRIPT}">{{x}}</b><script>${SCRIPT}</script></mj-text><mj-button href="${LINK}">${LONG}</mj-button></mj-column></mj-section></mj-body></mjml>`;
/** A picture of one red point. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'base64',
);

/** What the pages of the project are about. */
export interface HostileProject {
  contact: string;
  longContact: string;
  segment: string;
  listed: string;
  templates: { html: string; mjml: string; visual: string };
  campaigns: { draft: string; sent: string };
  workflow: string;
  step: string;
  execution: string;
  mails: { sent: string; suppressed: string; received: string };
  importJob: string;
  /** The domain that there are reports about. */
  domain: string;
  event: string;
  field: string;
}

async function makePeople(service: Service) {
  const data = { [EVIL]: EVIL, [LONG]: LONG, [TURNED]: TURNED, site: LINK, deep: { [EVIL]: [EVIL, { [LONG]: null }] }, plan: 'pro' };
  const { id: contact } = await service.api('POST', '/contacts', { body: { email: 'ada@example.org', data } });
  const email = `${'l'.repeat(60)}@${'o'.repeat(60)}.${'n'.repeat(60)}.example`;
  const { id: longContact } = await service.api('POST', '/contacts', { body: { email, data: { [EVIL]: LONG } } });
  for (const event of [EVIL, LONG, TURNED]) {
    await service.api('POST', '/v1/track', { body: { email: 'ada@example.org', event, data: { [EVIL]: EVIL, [LONG]: LONG } } });
  }
  return { contact, longContact };
}

async function makeAudience(service: Service) {
  const filters = [{ field: `data.${EVIL}`, operator: 'equals', value: EVIL }, { field: 'email', operator: 'contains', value: '@' }];
  const condition = { logic: 'AND', groups: [{ filters }] };
  const segment = await service.api('POST', '/segments', { body: { name: EVIL, description: EVIL, condition, trackMembership: true } });
  const listed = await service.api('POST', '/segments', { body: { name: LONG, description: LONG, type: 'STATIC' } });
  await service.api('POST', '/segments', { body: { name: TURNED, type: 'STATIC' } });
  await service.api('POST', `/segments/${segment.id}/compute`);
  await service.api('POST', `/segments/${listed.id}/members`, { body: { emails: ['ada@example.org'] } });
  for (const name of [EVIL, LONG, PLAIN]) {
    await service.api('POST', '/topics', { body: { name, description: name, visibility: 'PUBLIC', defaultSubscribed: true } });
  }
  return { segment: segment.id, listed: listed.id };
}

async function makeTemplates(service: Service) {
  const shared = { from: 'hello@acme.test', fromName: EVIL, subject: EVIL, description: EVIL, type: 'MARKETING' };
  const make = async (fields: object) => (await service.api('POST', '/templates', { body: { ...shared, ...fields } })).id;
  const html = await make({ name: EVIL, body: BODY });
  await service.api('PATCH', `/templates/${html}`, { body: { subject: `${TURNED} {{x}}`, body: `${BODY}<p>Again</p>` } });
  const document = documentOf(
    [
      {
        type: 'section',
        attrs: {},
        content: [
          {
            type: 'column',
            content: [
              { type: 'paragraph', content: [{ type: 'text', text: `${EVIL} ${LONG}`, marks: [{ type: 'link', attrs: { href: LINK } }] }] },
              { type: 'button', attrs: { href: LINK }, content: [{ type: 'text', text: EVIL }] },
              { type: 'image', attrs: { src: LINK, alt: EVIL } },
            ],
          },
        ],
      },
    ],
    {},
    EVIL,
  );
  const mjml = await make({ name: LONG, mjml: MJML });
  const visual = await make({ name: TURNED, mjml: writeMjml(document), document });
  const form = new FormData();
  form.append('image', new File([PIXEL], `${EVIL.slice(0, EVIL.indexOf('/'))}.png`, { type: 'image/png' }));
  await service.api('POST', '/uploads/image', { form });
  return { html, mjml, visual };
}

async function makeCampaigns(service: Service, segment: string) {
  const shared = { from: 'hello@acme.test', fromName: EVIL, subject: EVIL, description: EVIL, type: 'MARKETING', body: BODY };
  const make = async (fields: object) => (await service.api('POST', '/campaigns', { body: { ...shared, ...fields } })).data.id;
  const draft = await make({ name: EVIL, audienceType: 'SEGMENT', segmentId: segment });
  const sent = await make({ name: TURNED, audienceType: 'ALL' });
  await make({ name: LONG, subject: LONG, audienceType: 'ALL' });
  await service.api('POST', `/campaigns/${sent}/send`, { body: {} });
  await service.until('the campaign is sent', async () => (await service.api('GET', `/campaigns/${sent}`)).status === 'SENT');
  return { draft, sent };
}

async function makeWorkflow(service: Service, segment: string, template: string) {
  const { id } = await service.api('POST', '/workflows', { body: { name: EVIL, description: EVIL, eventName: EVIL, allowReentry: true } });
  const add = async (type: string, config: object, name = EVIL): Promise<string> =>
    (await service.api('POST', `/workflows/${id}/steps`, { body: { type, name, config, position: { x: 0, y: 0 } } })).id;
  await add('UPDATE_CONTACT', { updates: { [EVIL]: EVIL }, subscriptionAction: 'none' });
  await add('ADD_TO_SEGMENT', { segmentId: segment }, LONG);
  const step = await add('SEND_EMAIL', { templateId: template });
  await add('DELAY', { amount: 0.001, unit: 'minutes' }, TURNED);
  await add('WEBHOOK', { url: `https://hook.test/${encodeURIComponent(EVIL)}`, headers: { 'x-name': EVIL }, body: { [EVIL]: EVIL } });
  await add('WAIT_FOR_EVENT', { eventName: EVIL, timeout: 60 });
  await add('RANDOM_SPLIT', { branches: [{ id: EVIL, name: EVIL, weight: 1 }, { id: LONG, name: LONG, weight: 3 }] });
  await service.api('PATCH', `/workflows/${id}`, { body: { enabled: true, goal: { eventName: LONG } } });
  await service.api('POST', '/v1/track', { body: { email: 'ada@example.org', event: EVIL, data: { [EVIL]: EVIL } } });
  let execution = '';
  await service.until('an execution has begun', async () => {
    execution = (await service.api('GET', `/workflows/${id}/executions`)).data[0]?.id ?? '';
    return execution !== '';
  });
  await service.api('PATCH', `/workflows/${id}/steps/${step}`, { body: { name: `${EVIL} 2`, config: { templateId: template } } });
  await service.api('POST', `/workflows/${id}/publish`);
  for (const name of [LONG, TURNED]) await service.api('POST', '/workflows', { body: { name, eventName: name } });
  return { workflow: id, step, execution };
}

async function makeMails(service: Service, inbound: number) {
  const suppressions = [
    { name: EVIL, kind: 'ADDRESS', pattern: 'blocked@example.org' },
    { name: LONG, kind: 'WILDCARD', pattern: `*${EVIL}*` },
    { name: TURNED, kind: 'PREFIX', pattern: LONG },
  ];
  for (const body of suppressions) await service.api('POST', '/suppressions', { body });
  await service.api('POST', '/suppressions/addresses', { body: { email: `${'s'.repeat(64)}@example.org` } });
  const attachment = { filename: `${EVIL.replaceAll('"', '')}.pdf`, contentType: 'application/pdf', content: 'JVBERi0xLjQK' };
  const send = async (email: string, more: object): Promise<string> => {
    const mail = { to: { email, name: EVIL }, from: { email: 'shop@acme.test', name: EVIL }, subject: EVIL, body: BODY, ...more };
    return (await service.api('POST', '/v1/send', { body: mail })).data.emails[0].email;
  };
  const attachments = [attachment, { ...attachment, filename: `${LONG}.pdf` }];
  const sent = await send('ada@example.org', { attachments, headers: { 'x-note': EVIL }, data: { x: EVIL } });
  await send('grace@example.org', { subject: TURNED });
  await send('grace@example.org', { subject: LONG });
  const suppressed = await send('blocked@example.org', {});
  await service.until('the mail is captured', async () => (await service.api('GET', `/emails/${sent}`)).status === 'SENT');
  await open(service, sent);
  const encoded = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;
  await deliver(inbound, 'stranger@example.org', 'help@acme.test', [
    `From: ${encoded(EVIL.slice(0, 40))} <stranger@example.org>`,
    'To: help@acme.test',
    `Subject: ${encoded(EVIL.slice(0, 40))}`,
    'Message-ID: <1@example.org>',
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary=b',
    '',
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    ...BODY.split('\n'),
    '--b',
    'Content-Type: text/plain',
    `Content-Disposition: attachment; filename="${encoded(`${EVIL.slice(0, 30)}.txt`)}"`,
    '',
    EVIL,
    '--b--',
  ]);
  let received = '';
  await service.until('the mail came in', async () => {
    received = (await service.api('GET', '/emails?status=RECEIVED')).data[0]?.id ?? '';
    return received !== '';
  });
  return { sent, suppressed, received };
}

async function makeTeam(service: Service, grace: Person, cookie: string) {
  const { id } = service.project;
  const as = { cookie };
  await service.api('PATCH', '/users/@me', { ...as, body: { name: EVIL } });
  await service.api('PATCH', `/users/@me/projects/${id}`, { ...as, body: { name: EVIL } });
  await service.api('POST', '/domains', { ...as, body: { domain: `${'d'.repeat(60)}.${'e'.repeat(60)}.example`, projectId: id } });
  for (const name of [EVIL, LONG, PLAIN]) await service.api('POST', `/projects/${id}/keys`, { ...as, body: { name, scopes: ['read'] } });
  const { token } = await service.api('POST', `/projects/${id}/members`, { ...as, body: { email: grace.email, role: 'MEMBER' } });
  await service.api('POST', `/projects/${id}/members`, { ...as, body: { email: `${'w'.repeat(64)}@example.org`, role: 'ADMIN' } });
  await service.api('POST', '/auth/signup', { body: { ...grace, name: LONG, invitation: token } });
}

/** A report about the domain, by somebody who calls themselves whatever they like. */
async function makeReport(service: Service, inbound: number): Promise<string> {
  const domains = await service.api('GET', `/domains/project/${service.project.id}`);
  const domain = domains.find((one: { domain: string }) => one.domain === 'acme.test');
  const { value } = domain.records.find((record: { purpose: string }) => record.purpose === 'dmarc');
  const address = /mailto:([^,;]+)/.exec(value)?.[1] ?? '';
  const sources = [
    { ip: '192.0.2.1', count: 7, passes: true, from: 'acme.test' },
    { ip: '2001:db8:1234:5678:9abc:def0:1234:5678', count: 3, passes: false, from: `${'f'.repeat(60)}.${'g'.repeat(60)}.acme.test` },
  ];
  for (const [index, reporter] of [EVIL, LONG, PLAIN].entries()) {
    await deliver(inbound, 'reports@example.org', address, report({ reporter, id: `r${index}`, domain: 'acme.test', daysAgo: 2, sources }));
  }
  return domain.id;
}

async function makeImport(service: Service): Promise<string> {
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const rows = [['email', EVIL, LONG], ['alan@example.org', EVIL, TURNED], [EVIL, LONG, EVIL]];
  const form = new FormData();
  form.append('file', new File([rows.map((row) => row.map(cell).join(',')).join('\n')], `${EVIL}.csv`, { type: 'text/csv' }));
  const { jobId } = await service.api('POST', '/contacts/import', { form });
  await service.until('the import is over', async () => (await service.api('GET', `/contacts/import/${jobId}`)).state === 'completed');
  return jobId;
}

/** Fills the service's project with names, mails and data that are wrong everywhere but as text. */
export async function makeHostileProject(service: Service, inbound: number, grace: Person): Promise<HostileProject> {
  const cookie = await service.cookie();
  const people = await makePeople(service);
  const audience = await makeAudience(service);
  const templates = await makeTemplates(service);
  const campaigns = await makeCampaigns(service, audience.segment);
  const workflow = await makeWorkflow(service, audience.listed, templates.visual);
  const mails = await makeMails(service, inbound);
  await makeTeam(service, grace, cookie);
  const importJob = await makeImport(service);
  const domain = await makeReport(service, inbound);
  await service.api('POST', '/delivery/interventions', { body: { kind: 'PAUSE', domain: `${'p'.repeat(60)}.example`, reason: EVIL } });
  await service.api('POST', '/delivery/interventions', { body: { kind: 'EXPIRE', domain: 'given.up.example', reason: LONG } });
  // requests that are refused, with what was asked for in their path
  for (const path of [`/contacts/${encodeURIComponent(EVIL)}`, `/segments/${LONG}?q=${encodeURIComponent(EVIL)}`]) {
    await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${service.project.secret}`, 'user-agent': EVIL } });
  }
  return { ...people, ...audience, templates, campaigns, ...workflow, mails, importJob, domain, event: EVIL, field: `data.${EVIL}` };
}
