#!/usr/bin/env bash
# Measures the product on all GPUs of this machine, in at most 210 seconds: step06_prefetch/beyond/several/record.sh OUT
#
# It needs the release program (target/release/beyond) and the workspace, but no cargo. OUT receives one archive with JSON
# lines, one for each product.
set -uo pipefail
cd "$(dirname "$0")/../../.."
target=$1
mkdir -p "$target"
out=$(mktemp -d)
trap 'tar -czf "$target/several-$gpus.tgz" -C "$out" .' EXIT
program=("$PWD/${CARGO_TARGET_DIR:-target}/release/beyond" several)
limit=${LIMIT:-210}
gpus=$(nvidia-smi --list-gpus | wc -l)
export NCCL_NVLS_ENABLE=0

# NVRTC and NCCL come with Python's packages there. cudarc opens NCCL by the name libnccl.so only.
for environment in "${VIRTUAL_ENV:-}" /opt/torch/.venv; do
    [ -n "$environment" ] && [ -d "$environment" ] && export VIRTUAL_ENV=$environment && break
done
nccl=$(find "${VIRTUAL_ENV:-/usr}" /usr/lib /usr/local -name 'libnccl.so*' 2>/dev/null | head -n 1)
if [ -n "$nccl" ]; then
    folder=$(mktemp -d)
    ln -s "$nccl" "$folder/libnccl.so"
    echo "NCCL: $nccl"
    export LD_LIBRARY_PATH="$folder:$(dirname "$nccl"):${LD_LIBRARY_PATH:-}"
fi

# measure NAME SECONDS ARGUMENTS: a line of JSON for each product, if that many seconds are left.
measure() {
    local name=$1 seconds=$2
    shift 2
    if [ $((SECONDS + seconds)) -gt "$limit" ]; then
        echo "$SECONDS s: $name is left out, its $seconds s are no longer there"
        return
    fi
    local begin=$SECONDS
    timeout -k 5 "$seconds" "${program[@]}" --device cuda --json "$@" >"$out/$name.jsonl" 2>"$out/$name.err"
    echo "$SECONDS s: $name ended with status $? after $((SECONDS - begin)) s: $(tail -c 400 "$out/$name.err")"
}

nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv | tee "$out/machine.csv"
nvidia-smi topo -m >"$out/topology.txt" 2>&1
nvidia-smi --query-gpu=timestamp,index,power.draw.instant,clocks.sm,temperature.gpu --format=csv,noheader,nounits -lms 250 >"$out/power.csv" &
watching=$!
# Each GPU alone, all at the same time: the sum of their speeds is what they are worth together.
alone() {
    local pids=() rank
    for ((rank = 0; rank < gpus; rank++)); do
        CUDA_VISIBLE_DEVICES=$rank timeout -k 5 60 "${program[@]}" --device cuda --gpus 1 --size "$1" --json \
            >"$out/alone-$rank.jsonl" 2>"$out/alone-$rank.err" &
        pids+=($!)
    done
    wait "${pids[@]}"
    echo "$SECONDS s: alone: $(cat "$out"/alone-*.err)"
}

# 16384 × √2 has twice the memory of 16384, for two GPUs: weak scaling.
[ "$gpus" -eq 2 ] && sizes=16384,23168,32768 || sizes=16384,32768
alone 16384,32768
measure "gpus$gpus" 80 --gpus "$gpus" --size "$sizes" --overlap on,off
[ "$gpus" -gt 2 ] && measure gpus2 80 --gpus 2 --size 16384,23168,32768 --overlap on,off
"${program[@]}" --device cuda --gpus 9 --size 64 2>"$out/too-many.err"
echo "too many GPUs: status $?: $(cat "$out/too-many.err")"
# A library that is none stands for a missing one.
broken=$(mktemp -d)
echo none >"$broken/libnccl.so"
LD_LIBRARY_PATH=$broken timeout 20 "${program[@]}" --device cuda --gpus "$gpus" --size 64 2>"$out/no-nccl.err" >/dev/null
echo "no NCCL: status $?: $(cat "$out/no-nccl.err")"
[ "$gpus" -gt 2 ] && measure large 50 --gpus "$gpus" --size 110592 --samples 1
measure "panels$gpus" 40 --gpus "$gpus" --size 32768 --panel 512,2048,8192
measure "timeline$gpus" 25 --gpus "$gpus" --size 16384 --panel 2048 --overlap on,off
kill "$watching"
echo "$SECONDS s: done"
