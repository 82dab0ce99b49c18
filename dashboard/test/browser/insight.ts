import type { Service } from './service.ts';

/** Text that is wrong everywhere but as text. */
export const HOSTILE = `<img src=x onerror=alert(1)>"'{{x}}`;
/** The browser of a person, as far as a service can tell. */
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';

/** Sends a mail, waits until it is captured, and gives its id. */
export async function send(service: Service, to: string, subject: string, more: object = {}): Promise<string> {
  const body = {
    to: { email: to },
    from: { email: 'shop@acme.test', name: 'The Shop' },
    subject,
    body: '<p>Hello, <a href="https://acme.test/orders">your orders</a></p>',
    ...more,
  };
  const { data } = await service.api('POST', '/v1/send', { body });
  const id: string = data.emails[0].email;
  await service.until('the mail is captured', async () => {
    const mail = await service.api('GET', `/emails/${id}`);
    return mail.status === 'SENT';
  });
  return id;
}

/** Opens a mail as a person does, and waits until it counts. */
export async function open(service: Service, id: string): Promise<void> {
  const { html } = await service.api('GET', `/mailbox/${id}`);
  const picture = /src="([^"]+\/t\/[^"]+)"/.exec(html)?.[1];
  if (!picture) throw new Error('the mail is not tracked');
  await fetch(picture, { headers: { 'user-agent': FIREFOX } });
  await service.until('the mail was opened', async () => (await service.api('GET', `/emails/${id}`)).status === 'OPENED');
}
