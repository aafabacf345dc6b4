// Inspects a request for recognition before Triton gets it. Some parameters crash Triton 24.10 and newer, whoever sends
// them (docs/explanation/security.md, "Triton's published faults"). So only those that recognition needs pass.

const PARAMETERS = {
    request: ['timeout', 'binary_data_output', 'triton_enable_empty_final_response', 'scheme', 'sure'],
    inputs: ['binary_data_size'],
    outputs: ['binary_data'],
};
const REFUSED = ['classification', 'shared_memory', 'plates_probe', 'sequence_', 'triton_grpc_error'];

// Triton's errors name the shared memory of its Python models, which helps attackers (CVE-2025-23320). Stars
// replace it, so that the length stays as announced; plate_nets/common/error_codes.py knows the same names.
const REGION = /key '[^']*'|plates_[0-9]+_[0-9a-f]+_\w*|triton_python_backend_shm\w*/g;

function withoutRegions(text) {
    return text.replace(REGION, (name) => '*'.repeat(name.length));
}

function body(r, data, flags) {
    r.sendBuffer(r.status < 400 ? data : withoutRegions(data.toString()), flags);
}

function message(r) {
    const said = r.headersOut['grpc-message'];
    if (said) {
        r.headersOut['grpc-message'] = withoutRegions(said);
    }
}

// The JSON at the start of the body -> what is wrong with it, or nothing.
function fault(json) {
    let asked;
    try {
        asked = JSON.parse(json);
    } catch (e) {
        return 'expected JSON of the length that Inference-Header-Content-Length says';
    }
    const holders = { request: [asked], inputs: asked.inputs || [], outputs: asked.outputs || [] };
    for (const part in holders) {
        if (!Array.isArray(holders[part])) {
            return part + ': expected a list';
        }
        const known = PARAMETERS[part];
        const unknown = holders[part].some((holder) =>
            Object.keys((holder && holder.parameters) || {}).some((name) => !known.includes(name)));
        if (unknown) {
            return part + ': a parameter that is not served here';
        }
    }
    return '';
}

function http(r) {
    const length = r.headersIn['Inference-Header-Content-Length'] || '';
    const body = r.requestBuffer || Buffer.alloc(0);
    let wrong = 'expected a header Inference-Header-Content-Length of at most 4 digits, within the body';
    // Without this header the whole body is JSON, which a picture never is
    if (/^[1-9][0-9]{0,3}$/.test(length) && Number(length) <= body.length) {
        wrong = fault(body.slice(0, Number(length)).toString());
    }
    if (wrong) {
        r.headersOut['Content-Type'] = 'application/json';
        r.return(400, JSON.stringify({ error: wrong }));
        return;
    }
    r.internalRedirect('@triton');
}

// The framing of gRPC: one byte says whether the message is compressed, four give its length, then the message.
function grpc(r) {
    const body = r.requestBuffer || Buffer.alloc(0);
    const encoding = r.headersIn['grpc-encoding'] || 'identity';
    let wrong = '';
    if (encoding !== 'identity' || body[0]) {
        wrong = 'compressed messages are not accepted';
    } else if (r.uri.endsWith('/ModelInfer') && REFUSED.some((name) => body.includes(name))) {
        wrong = 'a parameter that is not served here';
    }
    if (wrong) {
        r.headersOut['Content-Type'] = 'application/grpc';
        r.headersOut['grpc-status'] = '3'; // INVALID_ARGUMENT
        r.headersOut['grpc-message'] = wrong;
        r.return(200);
        return;
    }
    r.internalRedirect('@triton');
}

export default { http, grpc, body, message };
