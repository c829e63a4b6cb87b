'use strict';

// Bytes that callers pass: where they are and how many there are, as the engine knows it. A
// `length` property of the caller's own, a subclass or a proxy cannot change that, so what is
// counted is what is copied. Used wherever bytes of a caller are measured or passed to the addon.

const { types } = require('node:util');

/**
 * @param {object} prototype
 * @param {string} name of a getter
 * @returns {(value: any) => any} throws a TypeError for a value without that internal slot
 */
function getterOf(prototype, name) {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  // Some of these getters are not there before Node.js 20.
  if (get === undefined) return () => false;
  return (value) => get.call(value);
}

const TypedArrayPrototype = Object.getPrototypeOf(Uint8Array.prototype);
/** In bytes; 0 once the memory is detached, or has shrunk below the view's end. */
const lengthOf = /** @type {(view: Uint8Array) => number} */ (
  getterOf(TypedArrayPrototype, 'byteLength')
);
const offsetOf = getterOf(TypedArrayPrototype, 'byteOffset');
const memoryOf = getterOf(TypedArrayPrototype, 'buffer');
const validate = TypedArrayPrototype.keys;
const isResizable = getterOf(ArrayBuffer.prototype, 'resizable');
const isGrowable = getterOf(SharedArrayBuffer.prototype, 'growable');
const DataViewPrototype = DataView.prototype;
const dataLengthOf = getterOf(DataViewPrototype, 'byteLength');
const dataOffsetOf = getterOf(DataViewPrototype, 'byteOffset');
const dataMemoryOf = getterOf(DataViewPrototype, 'buffer');

class BytesGoneError extends TypeError {
  /** @param {unknown} cause */
  constructor(cause) {
    super(
      'its bytes are gone: the ArrayBuffer was transferred, or resized to less than was passed',
      { cause },
    );
  }
}

/** @param {unknown} value @returns {value is ArrayBufferView | ArrayBufferLike} */
function isBytes(value) {
  return ArrayBuffer.isView(value) || types.isAnyArrayBuffer(value);
}

/** @param {ArrayBufferLike} memory */
function mayResize(memory) {
  return types.isSharedArrayBuffer(memory) ? isGrowable(memory) : isResizable(memory);
}

/** @param {Uint8Array} view */
function isPlain(view) {
  return (
    Object.getPrototypeOf(view) === Buffer.prototype &&
    !Object.hasOwn(view, 'length') &&
    !mayResize(memoryOf(view))
  );
}

/**
 * A Buffer of the same memory. Its length is what the value has now, for as long as the memory is
 * that large: a view that follows the size of its memory becomes one that does not.
 * @param {ArrayBufferView | ArrayBufferLike} value
 * @returns {Buffer} the value itself, if that is such a Buffer
 * @throws {BytesGoneError}
 */
function toBytes(value) {
  if (types.isTypedArray(value)) {
    assertThere(/** @type {any} */ (value));
    if (isPlain(/** @type {any} */ (value))) return /** @type {Buffer} */ (value);
    const view = /** @type {any} */ (value);
    return Buffer.from(memoryOf(view), offsetOf(view), lengthOf(view));
  }
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(dataMemoryOf(value), dataOffsetOf(value), dataLengthOf(value));
  }
  // The memory's own length: Buffer.from() reads the property.
  const view = new Uint8Array(value);
  return Buffer.from(memoryOf(view), 0, lengthOf(view));
}

/**
 * Does not call the view's constructor, as subarray() would.
 * @param {Uint8Array} view
 * @param {number} at
 * @param {number} length
 * @returns {Buffer} of the same memory
 */
function partOf(view, at, length) {
  return Buffer.from(memoryOf(view), offsetOf(view) + at, Math.min(length, lengthOf(view) - at));
}

/**
 * @param {Uint8Array} view
 * @throws {BytesGoneError}
 */
function assertThere(view) {
  if (lengthOf(view) > 0) return;
  try {
    validate.call(view);
  } catch (cause) {
    throw new BytesGoneError(cause);
  }
}

module.exports = { BytesGoneError, assertThere, isBytes, lengthOf, partOf, toBytes };
