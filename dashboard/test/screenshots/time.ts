import { once } from 'node:events';
import { connect } from 'node:net';

/** The time of a service whose clock can be moved (builds with debug assertions only), ahead of this machine's. */
export class Time {
  /** What the service is started with. */
  readonly settings: Record<string, string>;
  readonly #socket: string;
  #ahead: number;

  constructor(socket: string, ahead: number) {
    this.#socket = socket;
    this.#ahead = ahead;
    this.settings = { MAILWRIGHT_TEST_CLOCK: socket, MAILWRIGHT_TEST_CLOCK_AHEAD_MS: String(ahead) };
  }

  /** The service's time. */
  now(): number {
    return Date.now() + this.#ahead;
  }

  /** Moves the clock to a moment that has not come yet, and waits until the service has done what became due. */
  async moveTo(moment: number): Promise<void> {
    const by = moment - this.now();
    if (by <= 0) return;
    this.#ahead += by;
    const socket = connect(this.#socket);
    socket.write(`${Math.round(this.#ahead)}\n`);
    socket.resume();
    await once(socket, 'close');
  }
}
