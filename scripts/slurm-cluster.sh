#!/usr/bin/env bash
# A Slurm cluster of one node on loopback, for tests and for trying things out: no systemd, no cgroups, no accounting
# database, nothing below /etc, any user. Debian has the programs:
#     apt-get install -y --no-install-recommends slurmctld slurmd slurm-client munge
#
#     scripts/slurm-cluster.sh start FOLDER          # starts it and prints `export SLURM_CONF=…`
#     scripts/slurm-cluster.sh stop FOLDER           # cancels its jobs and ends its daemons
#     scripts/slurm-cluster.sh kill FOLDER NAME      # kill -9 of slurmctld or slurmd
#     scripts/slurm-cluster.sh revive FOLDER NAME    # starts it again
#
# CPUS and GPUS are how many the node claims to have [default: as many as there are, and 2]; the GPUs are device nodes
# that compute nothing. PORT and the next one are the daemons' [default: 16917].
set -euo pipefail

verb=${1:?start, stop, kill or revive}
folder=$(mkdir -p "${2:?a folder for its files}" && cd "$2" && pwd)
export SLURM_CONF=$folder/slurm.conf
PATH=$PATH:/usr/sbin:/sbin
node=$(hostname -s)

# The process that a pid file names, if it still is the daemon of that name.
pid_of() {
    local pid
    pid=$(cat "$folder/$1.pid" 2>/dev/null) || return 0
    if [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ]; then echo "$pid"; fi
}

begin() {
    case $1 in
    munged)
        munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munged.pid" \
            --log-file="$folder/munge/log" --seed-file="$folder/munge/seed"
        ;;
    slurmctld) slurmctld -f "$SLURM_CONF" ;;
    slurmd) slurmd -f "$SLURM_CONF" -N "$node" ;;
    *) echo "slurm-cluster: there is no daemon $1" >&2 && exit 2 ;;
    esac
}

end() { # name of the daemon
    local pid
    pid=$(pid_of "$1")
    [ -n "$pid" ] || return 0
    kill "$pid"
    for _ in $(seq 40); do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.25
    done
    kill -9 "$pid" 2>/dev/null || true
}

configure() {
    local cpus=${CPUS:-$(nproc)} gpus=${GPUS:-2} port=${PORT:-16917} memory device user
    memory=$(slurmd -C | sed -n 's/.*RealMemory=\([0-9]*\).*/\1/p')
    user=$(id -un)
    mkdir -p "$folder/munge" "$folder/controller" "$folder/node" "$folder/gpus"
    chmod 711 "$folder/munge"
    [ -s "$folder/munge/key" ] || (umask 077 && head -c 1024 /dev/urandom >"$folder/munge/key")
    # Slurm wants a character device behind a GPU; where none may be made, four that any system has must do.
    local borrowed=(/dev/null /dev/zero /dev/full /dev/random)
    : >"$folder/gres.conf"
    for ((i = 0; i < gpus; i++)); do
        device=$folder/gpus/gpu$i
        [ -c "$device" ] || mknod "$device" c 1 3 2>/dev/null || device=${borrowed[i]:?no more than 4 GPUs without the right to make devices}
        echo "Name=gpu File=$device" >>"$folder/gres.conf"
    done
    cat >"$SLURM_CONF" <<CONF
ClusterName=specimen
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
# A requeued job waits for its credential to expire: seconds here, two minutes if nothing is said.
AuthInfo=socket=$folder/munge/socket,cred_expire=5
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$folder/controller
SlurmdSpoolDir=$folder/node
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/backfill
# Tasks start as soon as there is room, not at the next turn of the scheduler.
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
JobRequeue=1
KillWait=${KILL_WAIT:-5}
MinJobAge=300
MaxArraySize=${MAX_ARRAY_SIZE:-1001}
SlurmctldTimeout=15
SlurmdTimeout=10
NodeName=$node NodeAddr=127.0.0.1 CPUs=$cpus RealMemory=$memory Gres=gpu:$gpus State=UNKNOWN
PartitionName=main Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
}

case $verb in
start)
    configure
    begin munged
    begin slurmctld
    begin slurmd
    for _ in $(seq 120); do
        if [ "$(sinfo --noheader --format=%T 2>/dev/null)" = idle ]; then
            echo "export SLURM_CONF=$SLURM_CONF"
            exit 0
        fi
        sleep 0.25
    done
    echo "slurm-cluster: the node is not idle; see $folder/slurmctld.log and $folder/slurmd.log" >&2
    sinfo --list-reasons >&2 || true
    exit 1
    ;;
stop)
    if [ -n "$(pid_of slurmctld)" ]; then
        squeue --noheader --format=%A | sort -u | xargs --no-run-if-empty scancel || true
        for _ in $(seq 80); do
            [ -n "$(squeue --noheader 2>/dev/null)" ] || break
            sleep 0.25
        done
    fi
    for daemon in slurmd slurmctld munged; do end "$daemon"; done
    ;;
kill)
    pid=$(pid_of "${3:?slurmctld or slurmd}")
    [ -n "$pid" ] && kill -9 "$pid"
    ;;
revive) begin "${3:?slurmctld or slurmd}" ;;
*)
    echo "slurm-cluster: start, stop, kill or revive, not $verb" >&2
    exit 2
    ;;
esac
