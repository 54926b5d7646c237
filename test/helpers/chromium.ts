/**
 * Headless Chromium for the tests, over the pipe that `--remote-debugging-pipe` opens: descriptors 3 and 4, JSON with a NUL after each message. That
 * is all there is to the protocol, so no package is behind it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

type Json = Record<string, unknown>;

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Where Chromium is; undefined where it is not. */
export function findChromium(): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/bin', '/usr/local/bin'];
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) =>
    existsSync(path),
  );
}

export class Chromium {
  readonly #child: ChildProcess;
  readonly #profile: string;
  readonly #waiting = new Map<number, { resolve(result: Json): void; reject(error: Error): void }>();
  readonly #listeners = new Map<string, (method: string, params: Json) => void>();
  #count = 0;

  private constructor(child: ChildProcess, profile: string) {
    this.#child = child;
    this.#profile = profile;
    let text = '';
    (child.stdio[4] as Readable).setEncoding('utf8').on('data', (piece: string) => {
      const parts = (text + piece).split('\0');
      text = parts.pop() as string;
      for (const part of parts) this.#receive(JSON.parse(part) as Json);
    });
    const gone = (): void => {
      for (const { reject } of this.#waiting.values()) reject(new Error('Chromium has ended'));
      this.#waiting.clear();
    };
    child.once('error', gone).once('exit', gone);
    (child.stdio[3] as Writable).on('error', gone);
  }

  static start(path: string): Chromium {
    const profile = mkdtempSync(join(tmpdir(), 'hwcrypt-chromium-'));
    const child = spawn(
      path,
      [
        '--headless=new',
        '--remote-debugging-pipe',
        `--user-data-dir=${profile}`,
        // Chromium's own sandbox refuses to work for root; the pages are our own.
        ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
        '--disable-gpu',
        '--disable-dev-shm-usage',
        '--disable-extensions',
        '--disable-background-networking',
        '--disable-component-update',
        '--no-first-run',
        '--no-default-browser-check',
        '--hide-scrollbars',
        'about:blank',
      ],
      { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] },
    );
    return new Chromium(child, profile);
  }

  send(method: string, params: Json = {}, sessionId?: string): Promise<Json> {
    const id = ++this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const message = { id, method, params, ...(sessionId === undefined ? {} : { sessionId }) };
      (this.#child.stdio[3] as Writable).write(`${JSON.stringify(message)}\0`);
    });
  }

  async open(): Promise<Page> {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, sessionId as string);
    this.#listeners.set(sessionId as string, (method, params) => page.hear(method, params));
    for (const domain of ['Page', 'Runtime', 'Log', 'Network', 'Audits']) await page.send(`${domain}.enable`);
    return page;
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    if (this.#child.exitCode === null) {
      await this.send('Browser.close').catch(() => this.#child.kill('SIGKILL'));
      await ended;
    }
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 5 });
  }

  #receive(message: Json): void {
    if (typeof message['id'] === 'number') {
      const waiting = this.#waiting.get(message['id']);
      this.#waiting.delete(message['id']);
      const error = message['error'] as { message: string } | undefined;
      if (error) waiting?.reject(new Error(error.message));
      else waiting?.resolve(message['result'] as Json);
      return;
    }
    this.#listeners.get(String(message['sessionId']))?.(String(message['method']), message['params'] as Json);
  }
}

export class Page {
  /** Whatever the page or Chromium about it complained of: exceptions, console, the policy, deprecations. */
  readonly complaints: string[] = [];
  /** Addresses that were asked for, the page itself apart. */
  readonly requests: string[] = [];
  readonly #browser: Chromium;
  readonly #session: string;
  #loaded: (() => void) | undefined;

  constructor(browser: Chromium, session: string) {
    this.#browser = browser;
    this.#session = session;
  }

  send(method: string, params: Json = {}): Promise<Json> {
    return this.#browser.send(method, params, this.#session);
  }

  /** @internal */
  hear(method: string, params: Json): void {
    if (method === 'Page.loadEventFired') this.#loaded?.();
    else if (method === 'Network.requestWillBeSent') {
      this.requests.push((params['request'] as { url: string }).url);
    } else if (
      method === 'Runtime.exceptionThrown' ||
      method === 'Runtime.consoleAPICalled' ||
      method === 'Log.entryAdded' ||
      method === 'Audits.issueAdded'
    ) {
      this.complaints.push(JSON.stringify(params).slice(0, 500));
    }
  }

  async goto(url: string): Promise<void> {
    const loaded = new Promise<void>((resolve) => {
      this.#loaded = resolve;
    });
    await this.send('Page.navigate', { url });
    await loaded;
  }

  async resize(width: number, height: number, mobile = false): Promise<void> {
    await this.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: mobile ? 2 : 1,
      mobile,
    });
  }

  async dark(on: boolean): Promise<void> {
    await this.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: on ? 'dark' : 'light' }],
    });
  }

  /** The value of an expression in the page. */
  async evaluate<T>(expression: string): Promise<T> {
    const answer = await this.send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (answer['exceptionDetails']) throw new Error(JSON.stringify(answer['exceptionDetails']));
    return (answer['result'] as { value: T }).value;
  }

  async screenshot(whole = true): Promise<Buffer> {
    const { data } = await this.send('Page.captureScreenshot', {
      format: 'png',
      captureBeyondViewport: whole,
    });
    return Buffer.from(data as string, 'base64');
  }

  async pdf(): Promise<Buffer> {
    const { data } = await this.send('Page.printToPDF', { printBackground: false, preferCSSPageSize: true });
    return Buffer.from(data as string, 'base64');
  }
}
