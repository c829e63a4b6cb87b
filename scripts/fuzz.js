'use strict';

// `npm run fuzz`: the decoders and the command reader of src/ under libFuzzer, AddressSanitizer and
// UndefinedBehaviorSanitizer, without Node.js. Needs clang and a system libpq (libpq-dev).
//   node scripts/fuzz.js [--seconds N] [--seed N] [--coverage] [target...]
// What was found interesting is kept in build/fuzz/TARGET, and tried again the next time; an input that
// fails is printed, and left in build/fuzz/. --coverage tells which lines all of that has reached.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { findLibpq } = require('./find-libpq');
const { nodeHeaders } = require('./native-headers');

const ROOT = path.join(__dirname, '..');
const OUTPUT = path.join(ROOT, 'build', 'fuzz');

/** Each target, and what of src/ it tries. @type {Record<string, string[]>} */
const TARGETS = {
  field: ['field_decoder.cc', 'binary_value.cc', 'delivery.cc'],
  rows: ['row_writer.cc', 'field_decoder.cc', 'binary_value.cc', 'delivery.cc'],
  commands: ['param_reader.cc'],
};

// Mixed sizes from the start: the targets take their inputs apart, and short ones reach little.
const LIBFUZZER_OPTIONS = [
  '-max_len=2048',
  '-len_control=20',
  '-print_final_stats=1',
  '-verbosity=0',
];

/** @param {string} command @param {string[]} args @returns {string} what it has printed */
function run(command, args) {
  const { status, error, stdout, stderr } = spawnSync(command, args, {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (error) throw new Error(`${command} could not be started: ${error.message}`);
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}\n${stdout}${stderr}`);
  return stdout + stderr;
}

/** @param {string} target @param {string[]} flags @param {string} program */
function compile(target, flags, program) {
  const libpq = findLibpq();
  run('clang++', [
    ...['-std=c++17', '-fno-rtti', '-g', '-O1', '-fno-omit-frame-pointer', ...flags],
    ...['-fsanitize=fuzzer,address,undefined', '-fno-sanitize=vptr'],
    '-fno-sanitize-recover=undefined',
    ...['-isystem', libpq.includeDir, '-isystem', nodeHeaders()],
    path.join('test', 'fuzz', `${target}.cc`),
    ...TARGETS[target].map((name) => path.join('src', name)),
    ...[`-L${libpq.libraryDir}`, '-lpq', '-o', program],
  ]);
}

/** @param {string} target @param {number} seconds @param {number} seed */
function fuzz(target, seconds, seed) {
  const program = path.join(OUTPUT, `${target}.fuzzer`);
  compile(target, [], program);
  const corpus = path.join(OUTPUT, target);
  fs.mkdirSync(corpus, { recursive: true });
  const printed = run(program, [
    ...LIBFUZZER_OPTIONS,
    ...[`-max_total_time=${seconds}`, `-seed=${seed}`, `-artifact_prefix=${corpus}-`, corpus],
  ]);
  /** @param {string} name */
  const stat = (name) => Number(printed.match(new RegExp(`stat::${name}: +(\\d+)`))?.[1]);
  const runs = stat('number_of_executed_units');
  if (!(runs > 0)) throw new Error(`${target} has run nothing:\n${printed}`);
  console.log(
    `${target}: ${runs.toLocaleString('en')} inputs, ${stat('average_exec_per_sec')}/s, ` +
      `${fs.readdirSync(corpus).length} kept, seed ${seed}`,
  );
}

/** @param {string} target */
function coverage(target) {
  const program = path.join(OUTPUT, `${target}.covered`);
  const profile = path.join(OUTPUT, `${target}.profraw`);
  compile(target, ['-fprofile-instr-generate', '-fcoverage-mapping'], program);
  process.env.LLVM_PROFILE_FILE = profile;
  run(program, ['-runs=0', path.join(OUTPUT, target)]);
  const data = path.join(OUTPUT, `${target}.profdata`);
  run('llvm-profdata', ['merge', '-o', data, profile]);
  const files = TARGETS[target].map((name) => path.join('src', name));
  console.log(run('llvm-cov', ['report', program, `-instr-profile=${data}`, ...files]));
}

function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string', default: '300' },
      seed: { type: 'string', default: String((Date.now() % 0x7fffffff) + 1) },
      coverage: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.find((name) => !(name in TARGETS));
  if (unknown) {
    throw new Error(`no target ${unknown}: there are ${Object.keys(TARGETS).join(', ')}`);
  }
  fs.mkdirSync(OUTPUT, { recursive: true });
  for (const target of positionals.length > 0 ? positionals : Object.keys(TARGETS)) {
    fuzz(target, Number(values.seconds), Number(values.seed));
    if (values.coverage) coverage(target);
  }
}

try {
  main();
} catch (error) {
  console.error(`fuzz: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
