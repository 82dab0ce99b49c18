import { createServer, type Server } from 'node:net';

/**
 * A mail server that answers each recipient as `answer` says, such as `451 4.7.1 later`; it takes all others. With the
 * answer `break` it takes the content and goes away without a word, so that nobody knows what became of it.
 */
export class Relay {
  readonly #server: Server;
  readonly #answer: (recipient: string) => string | undefined;

  /** `taken` is called with each mail that was taken, as it came. */
  constructor(answer: (recipient: string) => string | undefined, taken?: (recipient: string, mail: string) => void) {
    this.#answer = answer;
    this.#server = createServer((socket) => {
      let rest = '';
      let isContent = false;
      let breaks = false;
      let recipient = '';
      let content: string[] = [];
      const say = (line: string) => socket.write(`${line}\r\n`);
      const hear = (line: string) => {
        if (isContent) {
          if (line !== '.') {
            if (taken) content.push(line.replace(/^\./, ''));
            return;
          }
          isContent = false;
          if (breaks) {
            socket.destroy();
            return;
          }
          taken?.(recipient, content.join('\r\n'));
          content = [];
          say('250 2.0.0 taken');
          return;
        }
        const verb = line.slice(0, 4).toUpperCase();
        if (verb === 'EHLO' || verb === 'HELO') say('250 relay.test');
        else if (verb === 'RCPT') {
          recipient = /<([^>]*)>/.exec(line)?.[1] ?? '';
          const said = this.#answer(recipient);
          breaks = said === 'break';
          say(breaks ? '250 2.1.5 yes' : (said ?? '250 2.1.5 yes'));
        } else if (verb === 'DATA') {
          isContent = true;
          say('354 go on');
        } else if (verb === 'QUIT') socket.end('221 2.0.0 bye\r\n');
        else say('250 2.0.0 yes');
      };
      socket.on('error', () => undefined);
      socket.on('data', (data) => {
        rest += data.toString('latin1');
        for (let end = rest.indexOf('\r\n'); end >= 0; end = rest.indexOf('\r\n')) {
          const line = rest.slice(0, end);
          rest = rest.slice(end + 2);
          hear(line);
        }
      });
      say('220 relay.test ready');
    });
  }

  /** Begins to listen, and gives the address as the service's settings have it. */
  start(): Promise<string> {
    return new Promise((resolve) => {
      this.#server.listen(0, '127.0.0.1', () => {
        const address = this.#server.address();
        const port = typeof address === 'object' && address ? address.port : 0;
        resolve(`smtp://127.0.0.1:${port}?tls=none`);
      });
    });
  }

  stop(): void {
    this.#server.close();
  }
}
