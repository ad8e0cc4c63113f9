//! Which rank this process is, as `mpirun`, `srun` or a person says it in the environment.

use anyhow::{Result, anyhow, ensure};

/// Where rank 0 listens if nobody says: on the one machine there is.
const ADDRESS: &str = "127.0.0.1";
const PORT: &str = "29500";

/// Names of rank, world size and rank within the machine. The first are those of PyTorch's torchrun, for people too; then
/// Open MPI's, those of MPICH and its relatives, and Slurm's.
const NAMES: [[&str; 3]; 4] = [
    ["RANK", "WORLD_SIZE", "LOCAL_RANK"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"],
    ["PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"],
    ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"],
];

/// One of several processes that compute one product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// This process, from 0 on.
    pub rank: usize,
    /// How many there are.
    pub world: usize,
    /// Which process of its machine it is, if that is said: the index of its GPU.
    pub local: Option<usize>,
    /// Where rank 0 listens, as `host:port`.
    pub address: String,
}

impl Place {
    /// The place that the environment gives this process; none if it was started alone.
    pub fn from(environment: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        let Some([rank, world, local]) = NAMES.into_iter().find(|[rank, ..]| environment(rank).is_some()) else {
            return Ok(None);
        };
        let number = |name: &str| {
            let text = environment(name).unwrap_or_default();
            text.trim().parse::<usize>().map_err(|_| {
                anyhow!("{name} is {text:?}, which is no number, and {rank} is set; set both to start one rank of several, or neither")
            })
        };
        let place = Self {
            rank: number(rank)?,
            world: number(world)?,
            local: environment(local).map(|_| number(local)).transpose()?,
            address: format!(
                "{}:{}",
                environment("MASTER_ADDR").as_deref().unwrap_or(ADDRESS),
                environment("MASTER_PORT").as_deref().unwrap_or(PORT)
            ),
        };
        ensure!(
            place.rank < place.world,
            "{rank} is {} and {world} is {}; number the ranks from 0 to one less than there are",
            place.rank,
            place.world
        );
        Ok(Some(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(variables: &[(&str, &str)]) -> Result<Option<Place>> {
        Place::from(|name| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn each_launcher_is_understood() {
        assert_eq!(place(&[]).unwrap(), None);
        for names in NAMES {
            let found = place(&[(names[0], "3"), (names[1], "4"), (names[2], "1"), ("MASTER_ADDR", "node7")]);
            let expected = Place { rank: 3, world: 4, local: Some(1), address: "node7:29500".into() };
            assert_eq!(found.unwrap(), Some(expected), "{names:?}");
        }
        let by_hand = place(&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_PORT", "5000")]).unwrap().unwrap();
        assert_eq!((by_hand.address.as_str(), by_hand.local), ("127.0.0.1:5000", None));
    }

    #[test]
    fn half_a_place_is_none() {
        for (variables, part) in [
            (&[("RANK", "0")][..], "WORLD_SIZE is \"\""),
            (&[("RANK", "x"), ("WORLD_SIZE", "2")], "RANK is \"x\""),
            (&[("RANK", "2"), ("WORLD_SIZE", "2")], "number the ranks from 0"),
        ] {
            let error = place(variables).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains(';'), "{error}");
        }
    }
}
