import { connect } from 'node:net';

/** Hands a mail to the server that takes mail, as another server does. */
export async function deliver(port: number, from: string, to: string, lines: readonly string[]): Promise<void> {
  const turns = ['EHLO relay.test', `MAIL FROM:<${from}>`, `RCPT TO:<${to}>`, 'DATA', [...lines, '.'].join('\r\n'), 'QUIT'];
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let heard = '';
    socket.on('error', reject);
    socket.on('data', (data) => {
      heard += data.toString('latin1');
      // an answer ends with a line that has a space behind its code
      for (let end = /^\d{3} .*\r\n/m.exec(heard); end; end = /^\d{3} .*\r\n/m.exec(heard)) {
        heard = heard.slice(end.index + end[0].length);
        if (/^[45]/.test(end[0])) reject(new Error(`${turns[0]} was answered ${end[0]}`));
        const turn = turns.shift();
        if (turn === undefined) {
          socket.end();
          resolve();
        } else socket.write(`${turn}\r\n`);
      }
    });
  });
}

const DAY_S = 86_400;

/** A DMARC report (RFC 7489 appendix C) about the mail of a day. */
export interface Report {
  reporter: string;
  /** The domain that the mail says it is from. */
  sender?: string;
  id: string;
  domain: string;
  /** How many days before today the day is. */
  daysAgo: number;
  policy?: 'none' | 'quarantine' | 'reject';
  /** Where mail came from, and whether DKIM passed for the domain, with the key of this selector. */
  sources: readonly { ip: string; count: number; passes: boolean; from?: string; selector?: string }[];
}

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** The lines of a mail that brings a report. */
export function report({ reporter, sender = 'example.org', id, domain, daysAgo, policy = 'none', sources }: Report): string[] {
  const begin = (Math.floor(Date.now() / 1000 / DAY_S) - daysAgo) * DAY_S;
  const records = sources.map(({ ip, count, passes, from = domain, selector = 'elsewhere' }) => {
    const dkim = passes ? 'pass' : 'fail';
    return `<record><row><source_ip>${ip}</source_ip><count>${count}</count><policy_evaluated><disposition>none</disposition>
      <dkim>${dkim}</dkim><spf>fail</spf></policy_evaluated></row><identifiers><header_from>${from}</header_from></identifiers>
      <auth_results><dkim><domain>${domain}</domain><selector>${selector}</selector><result>${dkim}</result></dkim></auth_results></record>`;
  });
  const xml = `<?xml version="1.0"?><feedback><report_metadata><org_name>${escaped(reporter)}</org_name>
    <email>reports@example.org</email><report_id>${id}</report_id><date_range><begin>${begin}</begin><end>${begin + DAY_S - 1}</end>
    </date_range></report_metadata><policy_published><domain>${domain}</domain><p>${policy}</p></policy_published>${records.join('')}</feedback>`;
  return [
    `From: reports@${sender}`,
    `Subject: Report domain: ${domain}`,
    'MIME-Version: 1.0',
    'Content-Type: application/xml; name="report.xml"',
    'Content-Transfer-Encoding: base64',
    '',
    ...(Buffer.from(xml).toString('base64').match(/.{1,76}/g) ?? []),
  ];
}
