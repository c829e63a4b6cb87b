'use strict';

// Certificates of a test's own authorities, made by the openssl program: PostgreSQL's packages bring
// it along. Used by tls-server.js and the tests of TLS.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');

const KEY_KINDS = {
  rsa: ['rsa:2048'],
  ec: ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'],
};

/** @param {string[]} args */
function openssl(...args) {
  const { status, error, stderr } = spawnSync('openssl', args, {
    // Sanitizers are for this process.
    env: { ...process.env, LD_PRELOAD: '' },
  });
  assert.equal(status, 0, `openssl is needed: ${error ?? stderr}`);
}

/** An identity: its names of files, and what stands in them. */
class Identity {
  /** @param {string} certFile @param {string} keyFile */
  constructor(certFile, keyFile) {
    this.certFile = certFile;
    this.keyFile = keyFile;
    this.cert = fs.readFileSync(certFile, 'utf8');
    this.key = fs.readFileSync(keyFile, 'utf8');
  }

  /** @param {string} passphrase @returns the same with an encrypted key */
  encrypted(passphrase) {
    const keyFile = this.keyFile.replace(/\.key$/, '-encrypted.key');
    const target = ['-out', keyFile, '-aes256', '-passout', `pass:${passphrase}`];
    openssl('pkey', '-in', this.keyFile, ...target);
    fs.chmodSync(keyFile, 0o600);
    return new Identity(this.certFile, keyFile);
  }

  /** @param {string} passphrase @returns {Buffer} both in PKCS 12 */
  pfx(passphrase) {
    const file = this.keyFile.replace(/\.key$/, '.pfx');
    const source = ['-in', this.certFile, '-inkey', this.keyFile];
    openssl('pkcs12', '-export', ...source, '-passout', `pass:${passphrase}`, '-out', file);
    return fs.readFileSync(file);
  }
}

class Authority {
  #folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-ca-'));
  #issued = 0;

  /** @param {string} name */
  constructor(name) {
    const keyFile = path.join(this.#folder, 'ca.key');
    this.certFile = path.join(this.#folder, 'ca.pem');
    const subject = ['-subj', `/CN=${name}`, '-days', '2'];
    const output = ['-keyout', keyFile, '-out', this.certFile];
    openssl('req', '-x509', '-nodes', '-newkey', ...KEY_KINDS.ec, ...subject, ...output);
    this.cert = fs.readFileSync(this.certFile, 'utf8');
    fs.writeFileSync(path.join(this.#folder, 'index.txt'), '');
    const settings = {
      default_ca: 'it',
      '[it]': '',
      database: path.join(this.#folder, 'index.txt'),
      new_certs_dir: this.#folder,
      certificate: this.certFile,
      private_key: keyFile,
      rand_serial: 'yes',
      unique_subject: 'no',
      default_md: 'sha256',
      default_days: 2,
      default_crl_days: 2,
      policy: 'any',
      copy_extensions: 'copy',
      '[any]': '',
      commonName: 'supplied',
    };
    const lines = Object.entries(settings).map(([key, value]) =>
      key.startsWith('[') ? key : `${key} = ${value}`,
    );
    fs.writeFileSync(path.join(this.#folder, 'ca.cnf'), `[ca]\n${lines.join('\n')}\n`);
  }

  /** @param {string[]} args */
  #ca(...args) {
    openssl('ca', '-config', path.join(this.#folder, 'ca.cnf'), '-batch', '-notext', ...args);
  }

  /**
   * @param {string} name of the subject
   * @param {{ hosts?: string[], kind?: 'rsa' | 'ec', isExpired?: boolean }} [options]
   * @returns {Identity}
   */
  issue(name, { hosts = [], kind = 'ec', isExpired = false } = {}) {
    const file = path.join(this.#folder, `${++this.#issued}`);
    const names = hosts.map((host) => `${net.isIP(host) ? 'IP' : 'DNS'}:${host}`).join(',');
    const extension = hosts.length > 0 ? ['-addext', `subjectAltName=${names}`] : [];
    const output = ['-keyout', `${file}.key`, '-out', `${file}.csr`];
    const subject = ['-subj', `/CN=${name}`, ...extension];
    openssl('req', '-new', '-nodes', '-newkey', ...KEY_KINDS[kind], ...subject, ...output);
    fs.chmodSync(`${file}.key`, 0o600);
    const dates = isExpired ? ['-startdate', '200101000000Z', '-enddate', '210101000000Z'] : [];
    this.#ca('-in', `${file}.csr`, '-out', `${file}.pem`, ...dates);
    return new Identity(`${file}.pem`, `${file}.key`);
  }

  /** @param {Identity[]} revoked @returns {string} the list of them, in PEM */
  revocations(...revoked) {
    for (const { certFile } of revoked) this.#ca('-revoke', certFile);
    const file = path.join(this.#folder, 'crl.pem');
    this.#ca('-gencrl', '-out', file);
    return fs.readFileSync(file, 'utf8');
  }

  remove() {
    fs.rmSync(this.#folder, { recursive: true });
  }
}

module.exports = { Authority };
