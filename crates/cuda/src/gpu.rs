//! Devices: which there are, and one that is open.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cudarc::driver::{CudaContext, DriverError, result, sys};
use superpose_core::backend::{
    Cost, Device, DeviceError, Facts, Measured, MemoryLearner, MemorySizes, Numerics, Problem, Solution,
    Solver,
};
use superpose_core::config::Config;
use superpose_core::train::{Learner, State};

use crate::estimate;
use crate::geometry;
use crate::kernels::Kernels;
use crate::lane::{Done, Element, Lane, failed};
use crate::library;
use crate::session::Session;
use crate::train::{self, Memory, Training};

/// A device that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The word by which `--device` selects it.
    pub word: String,
    /// Its name, such as `NVIDIA H200`.
    pub name: String,
    /// Its architecture, such as `sm_90`.
    pub architecture: String,
    /// Bytes of its memory.
    pub total: f64,
    /// Bytes that are free.
    pub free: f64,
}

/// The oldest driver interface that is used.
const MIN_DRIVER: i32 = 12_000;
const NO_GPU: &str = "the NVIDIA driver finds no GPU";

fn unavailable(reason: impl fmt::Display) -> DeviceError {
    DeviceError::Unavailable { reason: reason.to_string() }
}

/// The devices of this machine.
///
/// # Errors
/// There is none, or the driver is missing or too old.
pub fn devices() -> Done<Vec<Found>> {
    library::driver()?;
    (0..count()?).map(|ordinal| describe(&*context(ordinal)?)).collect()
}

/// Says which library of those that runs need beside the driver cannot be used; `None` if all can.
pub fn missing_library() -> Option<String> {
    if let Err(error) = library::cublas() {
        return Some(error.to_string());
    }
    let DeviceError::Unavailable { reason } = library::nvrtc().err()? else { return None };
    Some(format!("{reason}; only kernels that were compiled before can be used"))
}

#[allow(unsafe_code)]
fn count() -> Done<usize> {
    match result::init() {
        Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => return Err(unavailable(NO_GPU)),
        Err(error) => {
            return Err(unavailable(format_args!("the NVIDIA driver does not start ({error:?})")));
        }
        Ok(()) => {}
    }
    let mut version = 0;
    // SAFETY: writes one number.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(failed)?;
    if version < MIN_DRIVER {
        let (major, minor) = (version / 1000, version % 1000 / 10);
        return Err(unavailable(format_args!(
            "the NVIDIA driver is for CUDA {major}.{minor}, and 12.0 is needed"
        )));
    }
    match CudaContext::device_count().map_err(failed)? {
        0 => Err(unavailable(NO_GPU)),
        count => Ok(count as usize),
    }
}

fn context(ordinal: usize) -> Done<Arc<CudaContext>> {
    CudaContext::new(ordinal)
        .map_err(|error| unavailable(format_args!("GPU {ordinal} does not start ({error:?})")))
}

fn architecture(context: &CudaContext) -> Done<(i32, i32)> {
    context.compute_capability().map_err(failed)
}

fn describe(context: &CudaContext) -> Done<Found> {
    let (major, minor) = architecture(context)?;
    let (free, total) = context.mem_get_info().map_err(failed)?;
    Ok(Found {
        word: format!("cuda:{}", context.ordinal()),
        // It comes from the driver and is printed on terminals.
        name: context.name().map_err(failed)?.chars().filter(|letter| !letter.is_control()).collect(),
        architecture: format!("sm_{major}{minor}"),
        total: total as f64,
        free: free as f64,
    })
}

/// Opens a device by its number, once in a program; kernels are compiled unless they are in the cache.
///
/// # Errors
/// The device, the driver or a library is missing or too old.
pub fn open(ordinal: usize) -> Done<Arc<dyn Device>> {
    static OPEN: Mutex<BTreeMap<usize, Arc<dyn Device>>> = Mutex::new(BTreeMap::new());
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(device) = open.get(&ordinal) {
        return Ok(Arc::clone(device));
    }
    let device = start(ordinal)?;
    open.insert(ordinal, Arc::clone(&device));
    Ok(device)
}

fn start(ordinal: usize) -> Done<Arc<dyn Device>> {
    library::driver()?;
    let count = count()?;
    if ordinal >= count {
        return Err(unavailable(format_args!("there is no GPU {ordinal}, the last is cuda:{}", count - 1)));
    }
    library::cublas()?;
    let context = context(ordinal)?;
    let (major, minor) = architecture(&context)?;
    let gpu = Gpu {
        numerics: Numerics::try_from(format!("cuda-sm{major}{minor}")).map_err(failed)?,
        architecture: format!("sm_{major}{minor}"),
        pool: pool(&context)?,
        context,
        single: OnceLock::new(),
        double: OnceLock::new(),
        lanes: Mutex::default(),
    };
    // A kernel that cannot be compiled, or cuBLAS that cannot be started, is an error now rather than in the first run.
    gpu.kernels::<f32>()?;
    drop(gpu.lane()?);
    Ok(Arc::new(gpu) as Arc<dyn Device>)
}

/// The pool that memory comes from. It keeps what is freed, because returning memory to the system is slow.
#[allow(unsafe_code)]
fn pool(context: &CudaContext) -> Done<Pool> {
    let mut pool = std::ptr::null_mut();
    let mut threshold = u64::MAX;
    let kind = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: the device exists; the attribute is a number of 64 bits.
    unsafe {
        // Each buffer is used in its own stream alone, so that no events are needed.
        context.disable_event_tracking();
        sys::cuDeviceGetDefaultMemPool(&mut pool, context.cu_device()).result().map_err(failed)?;
        sys::cuMemPoolSetAttribute(pool, kind, (&raw mut threshold).cast()).result().map_err(failed)?;
    }
    Ok(Pool(pool))
}

#[derive(Clone, Copy)]
struct Pool(sys::CUmemoryPool);

// SAFETY: a handle of the driver, which any thread may use.
#[allow(unsafe_code)]
unsafe impl Send for Pool {}
// SAFETY: the same.
#[allow(unsafe_code)]
unsafe impl Sync for Pool {}

impl Pool {
    #[allow(unsafe_code)]
    fn get(self, kind: sys::CUmemPool_attribute) -> Done<f64> {
        let mut value = 0u64;
        // SAFETY: these attributes are numbers of 64 bits.
        unsafe { sys::cuMemPoolGetAttribute(self.0, kind, (&raw mut value).cast()) }
            .result()
            .map_err(failed)?;
        Ok(value as f64)
    }

    #[allow(unsafe_code)]
    fn reset_peak(self) -> Done {
        let kind = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH;
        let mut zero = 0u64;
        // SAFETY: as above; 0 resets the mark.
        unsafe { sys::cuMemPoolSetAttribute(self.0, kind, (&raw mut zero).cast()) }.result().map_err(failed)
    }
}

/// An open device.
pub struct Gpu {
    context: Arc<CudaContext>,
    numerics: Numerics,
    architecture: String,
    pool: Pool,
    single: OnceLock<Done<Kernels>>,
    double: OnceLock<Done<Kernels>>,
    /// Lanes that no run uses at the moment.
    lanes: Mutex<Vec<Lane>>,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({})", self.word())
    }
}

/// A lane that goes back to its device.
pub struct Borrowed<'a> {
    lane: Option<Lane>,
    gpu: &'a Gpu,
}

impl Deref for Borrowed<'_> {
    type Target = Lane;
    fn deref(&self) -> &Lane {
        self.lane.as_ref().expect("a lane until it is dropped")
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        if let (Some(lane), Ok(mut lanes)) = (self.lane.take(), self.gpu.lanes.lock()) {
            lane.end();
            lanes.push(lane);
        }
    }
}

impl Gpu {
    pub fn kernels<T: Element>(&self) -> Done<&Kernels> {
        let place = if T::SINGLE { &self.single } else { &self.double };
        let load = || Kernels::load(&self.context, &self.architecture, T::SINGLE);
        place.get_or_init(load).as_ref().map_err(Clone::clone)
    }

    /// A lane for a run on this thread.
    pub fn lane(&self) -> Done<Borrowed<'_>> {
        self.context.bind_to_thread().map_err(failed)?;
        let free = self.lanes.lock().ok().and_then(|mut lanes| lanes.pop());
        let lane = match free {
            Some(lane) => lane,
            None => Lane::new(self.context.new_stream().map_err(failed)?)?,
        };
        Ok(Borrowed { lane: Some(lane), gpu: self })
    }
}

impl Gpu {
    /// A lane for a batch of problems, or for one.
    fn lane_for<T>(&self, problems: &[Problem<'_, T>]) -> Done<Borrowed<'_>> {
        let lane = self.lane()?;
        if let [problem, _, ..] = problems {
            let tensor_cores = self.kernels::<f32>()?.tensor_cores;
            let bytes = estimate::entries_bytes(problem.config, problem.stored.is_some(), tensor_cores);
            lane.begin(problems.len(), (bytes as usize).next_multiple_of(1 << 20));
        }
        Ok(lane)
    }
}

impl<T: Element> Solver<T> for Gpu {
    fn solve(&self, problem: &Problem<'_, T>) -> Result<Solution<T>, DeviceError> {
        let lane = self.lane()?;
        Session::new(self.kernels::<T>()?, &lane, std::slice::from_ref(problem))?.solve()
    }

    fn learner<'a>(
        &'a self,
        problem: &'a Problem<'a, T>,
        state: &'a mut State<T>,
    ) -> Result<Box<dyn Learner<T> + 'a>, DeviceError> {
        Ok(Box::new(Training::new(self, problem, state)?))
    }

    fn memory<'a>(&'a self, facts: Facts<'a, T>) -> Result<Box<dyn MemoryLearner + 'a>, DeviceError> {
        Ok(Box::new(Memory::new(self, facts)?))
    }

    fn measure(&self, problems: &[Problem<'_, T>]) -> Result<Vec<Measured<T>>, DeviceError> {
        let lane = self.lane_for(problems)?;
        let session = Session::new(self.kernels::<T>()?, &lane, problems)?;
        match session.measure() {
            Err(_) if session.uneven.get() => {}
            result => return result,
        }
        drop(session);
        drop(lane);
        let alone = |problem| Ok(self.measure(std::slice::from_ref(problem))?.remove(0));
        problems.iter().map(alone).collect()
    }

    fn cost(&self, problems: &[Problem<'_, T>], repeat: usize) -> Result<Cost, DeviceError> {
        let lane = self.lane_for(problems)?;
        lane.trim();
        self.pool.reset_peak()?;
        let session = Session::new(self.kernels::<T>()?, &lane, problems)?;
        let seconds = (0..repeat + 1).map(|_| session.train_seconds()).collect::<Done<Vec<f64>>>()?;
        // The first one starts libraries and takes memory from the system.
        let shortest = seconds[1..].iter().copied().fold(f64::INFINITY, f64::min);
        let bytes = self.pool.get(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?;
        Ok(Cost { seconds: shortest, bytes })
    }
}

impl Device for Gpu {
    fn word(&self) -> String {
        format!("cuda:{}", self.context.ordinal())
    }

    fn numerics(&self) -> Numerics {
        self.numerics.clone()
    }

    fn check(&self, config: &Config) -> Done {
        geometry::check(config, self.kernels::<f32>()?.shared)
    }

    fn needs(&self, config: &Config, stored: bool) -> f64 {
        let tensor_cores = self.kernels::<f32>().is_ok_and(|kernels| kernels.tensor_cores);
        estimate::bytes(config, stored, tensor_cores).max(train::bytes(config, stored))
    }

    fn batch(&self, config: &Config) -> usize {
        let tensor_cores = self.kernels::<f32>().is_ok_and(|kernels| kernels.tensor_cores);
        if estimate::fits_pitch(config, tensor_cores) { geometry::batch(config) } else { 1 }
    }

    fn memory_needs(&self, sizes: &MemorySizes) -> f64 {
        train::memory_bytes(sizes, size_of::<f32>())
    }

    fn available(&self) -> Result<f64, DeviceError> {
        self.context.bind_to_thread().map_err(failed)?;
        // What idle lanes have cached is free, too.
        for lane in self.lanes.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            lane.trim();
            lane.wait()?;
        }
        let (free, _) = self.context.mem_get_info().map_err(failed)?;
        let reserved = self.pool.get(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?;
        let used = self.pool.get(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        Ok(free as f64 + reserved - used)
    }
}
