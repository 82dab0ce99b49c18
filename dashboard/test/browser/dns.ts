import { createSocket, type Socket } from 'node:dgram';

/** The number of TXT records. */
const TXT = 16;
/** Flags of an answer by the server that the name belongs to (RFC 1035 section 4.1.1), and the code for no such name. */
const ANSWER = 0x8580;
const NO_NAME = 3;
/** Where the name that was asked for stands in a message. */
const ASKED = 0xc00c;
/** The most bytes of one string of a TXT record. */
const STRING = 255;

/** A name server of records that a test sets: TXT records alone, which is what keys and policies are. */
export class NameServer {
  readonly #socket: Socket = createSocket('udp4');
  readonly #records = new Map<string, string[]>();

  /** Begins to listen, and gives its address as the service's settings have it. */
  start(): Promise<string> {
    this.#socket.on('message', (message, from) => this.#socket.send(this.#answer(message), from.port, from.address));
    return new Promise((resolve) => {
      this.#socket.bind(0, '127.0.0.1', () => resolve(`127.0.0.1:${this.#socket.address().port}`));
    });
  }

  stop(): void {
    this.#socket.close();
  }

  /** Sets what a name has; without a value it is gone. */
  set(name: string, ...values: string[]): void {
    if (values.length === 0) this.#records.delete(name.toLowerCase());
    else this.#records.set(name.toLowerCase(), values);
  }

  #answer(message: Buffer): Buffer {
    const labels: string[] = [];
    let at = 12;
    for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
      labels.push(message.toString('latin1', at + 1, at + 1 + length));
      at += 1 + length;
    }
    const question = message.subarray(12, at + 5);
    const values = this.#records.get(labels.join('.').toLowerCase());
    const found = message.readUInt16BE(at + 1) === TXT ? (values ?? []) : [];
    const head = Buffer.alloc(12);
    message.copy(head, 0, 0, 2);
    head.writeUInt16BE(ANSWER | (values ? 0 : NO_NAME), 2);
    head.writeUInt16BE(1, 4);
    head.writeUInt16BE(found.length, 6);
    return Buffer.concat([head, question, ...found.map(textRecord)]);
  }
}

/** A TXT record of the name that was asked for, to be kept for no time. */
function textRecord(value: string): Buffer {
  const strings: Buffer[] = [];
  const bytes = Buffer.from(value);
  for (let at = 0; at === 0 || at < bytes.length; at += STRING) {
    const part = bytes.subarray(at, at + STRING);
    strings.push(Buffer.from([part.length]), part);
  }
  const data = Buffer.concat(strings);
  const head = Buffer.alloc(12);
  head.writeUInt16BE(ASKED, 0);
  head.writeUInt16BE(TXT, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(data.length, 10);
  return Buffer.concat([head, data]);
}
